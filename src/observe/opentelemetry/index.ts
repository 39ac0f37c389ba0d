import { checkOptions, hasMethods, type NamesOf } from '../../core/check.ts'
import { InvalidArgumentError, UnsupportedError } from '../../index.ts'
import type { Collector } from '../collector.ts'
import { MEASURES, type NumberMeasure } from '../measures.ts'
import type { Observer } from '../observe.ts'
import type { Api, Observable, OtelMeter, Results, Tracer } from './shapes.ts'
import { traceSpans } from './spans.ts'

export interface OpenTelemetryOptions {
  /** The application's global meter by default. */
  readonly meter?: OtelMeter
  /** The application's global tracer by default; `null` makes no spans. */
  readonly tracer?: Tracer | null
}

const OPTIONS: NamesOf<OpenTelemetryOptions> = { meter: true, tracer: true }
const SCOPE = 'holdfast'

/**
 * Exports every measure to OpenTelemetry, under the names of Prometheus, and makes spans for waits and holds.
 * Returns a function that stops it. Throws `UnsupportedError` if `@opentelemetry/api` is not installed.
 */
export async function opentelemetry(
  observer: Pick<Observer, 'collector' | 'locks'>,
  options: OpenTelemetryOptions = {},
): Promise<() => void> {
  checkOptions('options', options, OPTIONS)
  if (!hasMethods(observer?.collector, ['tap']) || !Array.isArray(observer.locks))
    throw new InvalidArgumentError('observer', 'must be what observe() gives')
  if (options.meter !== undefined && !hasMethods(options.meter, ['createHistogram']))
    throw new InvalidArgumentError('meter', 'must be a Meter of OpenTelemetry')
  if (options.tracer !== undefined && options.tracer !== null && !hasMethods(options.tracer, ['startSpan']))
    throw new InvalidArgumentError('tracer', 'must be a Tracer of OpenTelemetry, or null for no spans')
  const api = await load()
  const { meter = api.metrics.getMeter(SCOPE), tracer = api.trace.getTracer(SCOPE) } = options
  const stops = [readNumbers(observer.collector, meter), tapHistograms(observer.collector, meter)]
  if (tracer !== null) for (const locks of observer.locks) stops.push(traceSpans(locks, tracer, api))
  return () => {
    for (const stop of stops) stop()
  }
}

/** Counters and gauges are observed when the meter's reader asks. */
function readNumbers(collector: Collector, meter: OtelMeter): () => void {
  const instruments = MEASURES.filter((measure) => measure.type !== 'histogram').map(
    (measure): [NumberMeasure, Observable] => {
      const options = { description: measure.help }
      return measure.type === 'counter'
        ? [measure, meter.createObservableCounter(measure.name, options)]
        : [measure, meter.createObservableGauge(measure.name, options)]
    },
  )
  const observables = instruments.map(([, observable]) => observable)
  const read = (results: Results): void => {
    for (const [measure, observable] of instruments)
      for (const { labels, value } of measure.read(collector)) results.observe(observable, value, labels)
  }
  meter.addBatchObservableCallback(read, observables)
  return () => meter.removeBatchObservableCallback(read, observables)
}

/** A histogram cannot be observed as a whole, so each value is recorded. */
function tapHistograms(collector: Collector, meter: OtelMeter): () => void {
  const instruments = new Map(
    MEASURES.filter((measure) => measure.type === 'histogram').map(({ name, help, unit, bounds }) => {
      const advice = { explicitBucketBoundaries: [...bounds] }
      return [name, meter.createHistogram(name, { description: help, unit, advice })]
    }),
  )
  return collector.tap(({ measure, labels }, value) => instruments.get(measure)?.record(value, labels))
}

async function load(): Promise<Api> {
  try {
    return (await import('@opentelemetry/api')) as unknown as Api
  } catch (error) {
    throw new UnsupportedError(
      'holdfast/opentelemetry needs the API of OpenTelemetry: npm install @opentelemetry/api',
      { cause: error },
    )
  }
}

import type { Labels } from '../histogram.ts'

// The used part of `@opentelemetry/api`, by its shape: other users do not need its types.

interface InstrumentOptions {
  readonly description?: string
  readonly unit?: string
  readonly advice?: { readonly explicitBucketBoundaries?: number[] }
}

interface HistogramInstrument {
  record(value: number, attributes?: Labels): void
}

/** An observable instrument; only handed back to the meter. */
// biome-ignore lint/suspicious/noExplicitAny: it is opaque to us
export type Observable = any

export interface Results {
  observe(instrument: Observable, value: number, attributes?: Labels): void
}

export interface OtelMeter {
  createHistogram(name: string, options?: InstrumentOptions): HistogramInstrument
  createObservableCounter(name: string, options?: InstrumentOptions): Observable
  createObservableGauge(name: string, options?: InstrumentOptions): Observable
  addBatchObservableCallback(callback: (results: Results) => void, instruments: Observable[]): void
  removeBatchObservableCallback(callback: (results: Results) => void, instruments: Observable[]): void
}

export interface OtelSpan {
  isRecording(): boolean
  spanContext(): { readonly traceId: string }
  setAttribute(name: string, value: string | number | boolean): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** A trace context; opaque to us. */
// biome-ignore lint/suspicious/noExplicitAny: it is opaque to us
export type OtelContext = any

export interface Tracer {
  startSpan(
    name: string,
    options?: { attributes?: Record<string, string | number | boolean> },
    context?: OtelContext,
  ): OtelSpan
}

export interface Api {
  readonly context: { active(): OtelContext }
  readonly metrics: { getMeter(name: string): OtelMeter }
  readonly trace: { getTracer(name: string): Tracer }
}

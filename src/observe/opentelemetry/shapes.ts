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

export interface Meter {
  createHistogram(name: string, options?: InstrumentOptions): HistogramInstrument
  createObservableCounter(name: string, options?: InstrumentOptions): Observable
  createObservableGauge(name: string, options?: InstrumentOptions): Observable
  addBatchObservableCallback(callback: (results: Results) => void, instruments: Observable[]): void
  removeBatchObservableCallback(callback: (results: Results) => void, instruments: Observable[]): void
}

export interface Span {
  isRecording(): boolean
  spanContext(): { readonly traceId: string }
  setAttribute(name: string, value: string | number | boolean): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** A trace context; opaque to us. */
// biome-ignore lint/suspicious/noExplicitAny: it is opaque to us
export type Context = any

export interface Tracer {
  startSpan(
    name: string,
    options?: { attributes?: Record<string, string | number | boolean> },
    context?: Context,
  ): Span
}

export interface Api {
  readonly context: { active(): Context }
  readonly metrics: { getMeter(name: string): Meter }
  readonly trace: { getTracer(name: string): Tracer }
}

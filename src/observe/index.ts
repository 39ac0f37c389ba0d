export { Collector, type CollectorOptions, type Observed } from './collector.ts'
export type { Histogram, Labels } from './histogram.ts'
export { keyPattern } from './patterns.ts'
export type { CallSeries, Series } from './series.ts'

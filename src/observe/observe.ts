import { Collector, type CollectorOptions, type Observed } from './collector.ts'

export interface ObserveOptions extends CollectorOptions {}

/** What watches locks. */
export interface Observer {
  readonly collector: Collector
  readonly locks: readonly Observed[]
  /** Stops watching; leaves no timer and no listener behind. */
  close(): void
}

/** Watches these locks from now on. */
export function observe(locks: Observed | readonly Observed[], options: ObserveOptions = {}): Observer {
  const watched = Array.isArray(locks) ? (locks as readonly Observed[]) : [locks as Observed]
  const collector = new Collector(options)
  for (const each of watched) collector.watch(each)
  return { collector, locks: watched, close: () => collector.close() }
}

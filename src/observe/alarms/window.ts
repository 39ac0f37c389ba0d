import type { Collector } from '../collector.ts'
import { quantileOf, SECONDS } from '../histogram.ts'
import type { Series } from '../series.ts'

/** The events of the keys of one pattern within the window. */
export interface Happened {
  readonly pattern: string
  readonly granted: number
  readonly timeouts: number
  readonly failed: number
  readonly lost: number
  /** Null if there was no wait. */
  readonly waitP99Seconds: number | null
}

interface Reading {
  readonly atMs: number
  readonly counts: ReadonlyMap<Series, Float64Array>
}

/** The counts of a series in this order, and then the counts of its waits. */
const FIGURES: readonly ((series: Series) => number)[] = [
  ({ granted }) => granted,
  ({ turnedAway }) => turnedAway.timeout,
  ({ turnedAway }) => turnedAway.failed,
  // An adopted or closed lease ended as its holder wished.
  ({ lost }) => lost.deadline + lost.expired + lost.evicted,
]

/** The changes of a collector's counts within a sliding window. */
export class Window {
  private readonly collector: Collector
  private readonly lengthMs: number
  private readings: Reading[] = []

  constructor(collector: Collector, lengthMs: number, nowMs: number) {
    this.collector = collector
    this.lengthMs = lengthMs
    this.readings.push(this.read(nowMs))
  }

  /** Moves the window to now and returns the changes within it. */
  slide(nowMs: number): readonly Happened[] {
    const now = this.read(nowMs)
    this.readings.push(now)
    // The last reading outside is the begin of the window.
    while ((this.readings[1] as Reading).atMs <= nowMs - this.lengthMs) this.readings.shift()
    const { counts: before } = this.readings[0] as Reading
    return [...now.counts].map(([series, counts]) => happened(series, counts, before.get(series)))
  }

  private read(atMs: number): Reading {
    const previous = this.readings.at(-1)?.counts
    const counts = new Map<Series, Float64Array>()
    for (const series of this.collector.series()) {
      const now = Float64Array.of(...FIGURES.map((figure) => figure(series)), ...series.wait.counts)
      const last = previous?.get(series)
      // Unchanged counts are kept once, however many readings the window has.
      counts.set(series, last?.every((count, index) => count === now[index]) === true ? last : now)
    }
    return { atMs, counts }
  }
}

function happened(series: Series, now: Float64Array, before: Float64Array | undefined): Happened {
  const since = now.map((count, index) => count - (before?.[index] ?? 0))
  const [granted = 0, timeouts = 0, failed = 0, lost = 0] = since
  const waits = since.subarray(FIGURES.length)
  return {
    pattern: series.pattern,
    granted,
    timeouts,
    failed,
    lost,
    waitP99Seconds: quantileOf(SECONDS, waits, 0.99),
  }
}

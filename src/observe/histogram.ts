export type Labels = Readonly<Record<string, string>>

/** Listeners for every single value. The collector keeps them in one list, so that values without a listener cost nothing. */
export interface Taps {
  readonly listeners: ((histogram: Histogram, value: number) => void)[]
}

/** Upper bounds in seconds: of waits, holds and calls alike. 0.1 must be one of them, because an alert asks for it. */
export const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
] as const
export const PLACES = [1, 2, 5, 10, 25, 50, 100, 250, 1000] as const

/** Counts of values by upper bound. Adding a value allocates nothing. */
export class Histogram {
  readonly measure: string
  readonly labels: Labels
  readonly bounds: readonly number[]
  /** One more than bounds: the last counts the values above all of them. */
  readonly counts: Float64Array
  sum = 0
  private readonly taps: Taps

  constructor(measure: string, labels: Labels, bounds: readonly number[], taps: Taps) {
    this.measure = measure
    this.labels = labels
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
    this.taps = taps
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  add(value: number): void {
    const { bounds, counts } = this
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index++
    counts[index] = (counts[index] as number) + 1
    this.sum += value
    const { listeners } = this.taps
    for (let index = 0; index < listeners.length; index++)
      (listeners[index] as Taps['listeners'][number])(this, value)
  }

  /** The quantile: the value that this part of all values does not exceed; null if there are none. */
  quantile(part: number): number | null {
    return quantileOf(this.bounds, this.counts, part)
  }
}

/**
 * A quantile from counts by bound, as Prometheus estimates it: evenly spread inside a bucket, and never above the highest bound.
 */
export function quantileOf(
  bounds: readonly number[],
  counts: ArrayLike<number>,
  part: number,
): number | null {
  let total = 0
  for (let index = 0; index < counts.length; index++) total += counts[index] as number
  if (total === 0) return null
  const rank = part * total
  let below = 0
  for (let index = 0; index < bounds.length; index++) {
    const inside = counts[index] as number
    if (below + inside >= rank && inside > 0) {
      const lower = index === 0 ? 0 : (bounds[index - 1] as number)
      return lower + ((bounds[index] as number) - lower) * ((rank - below) / inside)
    }
    below += inside
  }
  return bounds.at(-1) as number
}

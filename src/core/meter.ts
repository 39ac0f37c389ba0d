/** Counts grants and releases, which happen many thousand times a second, without an event made for each. Must not throw. */
export interface Meter {
  /** Returns what will be told of the release. */
  granted(key: string, waitedMs: number, handedOver: boolean): HoldMeter
}

export interface HoldMeter {
  released(heldMs: number, outcome: 'released' | 'expired'): void
}

/** Several meters as one; null for none. */
export function combined(meters: readonly Meter[]): Meter | null {
  const [first = null] = meters
  if (meters.length < 2) return first
  return {
    granted(key, waitedMs, handedOver) {
      const holds = meters.map((meter) => meter.granted(key, waitedMs, handedOver))
      return {
        released(heldMs, outcome) {
          for (const hold of holds) hold.released(heldMs, outcome)
        },
      }
    },
  }
}

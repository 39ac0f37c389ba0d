import { fairness } from './statistics.ts'

/** When all begin and when none begins any more, on the machine's monotonic clock. */
export interface Start {
  readonly startNs: number
  readonly endNs: number
}

/** When one asked for the key, came in and went out. */
export type Visit = readonly [askNs: number, enterNs: number, exitNs: number]

export interface Outcome {
  readonly perSecond: number
  /** From one place's leaving to another's coming in; one that takes the key again at once hands nothing off. */
  readonly handOffsMs: readonly number[]
  readonly waitsMs: readonly number[]
  /** The part of all visits that came after one of another place. */
  readonly crossing: number
  readonly fairness: number
  readonly overlaps: number
}

const NANOSECONDS_PER_MS = 1e6

/** One who wants the key, and where: a key that stays in its place is not handed off. */
export interface Contender {
  readonly place: number
  readonly visits: readonly Visit[]
}

export function outcomeOf(contenders: readonly Contender[], { startNs, endNs }: Start): Outcome {
  const all = contenders.flatMap(({ place, visits }) =>
    visits.map(([askNs, enterNs, exitNs]) => ({ place, askNs, enterNs, exitNs })),
  )
  const sorted = all.toSorted((one, other) => one.enterNs - other.enterNs)
  const overlaps = sorted.filter(({ enterNs }, index) => enterNs < (sorted[index - 1]?.exitNs ?? 0)).length
  // When the time is up the others stop coming, so what is still going on then is not contended any more.
  const inTime = sorted.filter(({ exitNs }) => exitNs <= endNs)
  const handOffsMs = inTime.flatMap(({ place, enterNs }, index) => {
    const before = inTime[index - 1]
    const crosses = before !== undefined && before.place !== place
    return crosses ? [(enterNs - before.exitNs) / NANOSECONDS_PER_MS] : []
  })
  return {
    perSecond: (inTime.length / ((endNs - startNs) / NANOSECONDS_PER_MS)) * 1000,
    handOffsMs,
    // Waiters left at the end count too: without them a starving lock would look good.
    waitsMs: sorted.map(({ askNs, enterNs }) => (enterNs - askNs) / NANOSECONDS_PER_MS),
    crossing: handOffsMs.length / inTime.length,
    fairness: fairness(contenders.map(({ visits }) => visits.length)),
    overlaps,
  }
}

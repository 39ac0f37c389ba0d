import type { Start, Visit } from '../contest.ts'
import { fairness } from '../statistics.ts'

/** The report of one process when the time is up. */
export interface Account {
  readonly visits: readonly Visit[]
  /** When those asked who still wait. */
  readonly waitingSinceNs: readonly number[]
  readonly cpuMicroseconds: number
}

export interface Outcome {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  /** From somebody leaving to the entry of one who was waiting then; whoever asks later and gets in first is passed over. */
  readonly handOffsMs: readonly number[]
  /** The handoffs among them: from one process to another. */
  readonly crossingsMs: readonly number[]
  readonly waitsMs: readonly number[]
  readonly fairness: number
  readonly overlaps: number
}

const NANOSECONDS_PER_MS = 1e6

interface Seen {
  readonly process: number
  readonly ask: number
  readonly enter: number
  readonly exit: number
}

/** `oneKey` says whether all wanted the same key: only then is there something to hand off. */
export function outcomeOf(accounts: readonly Account[], { startNs, endNs }: Start, oneKey: boolean): Outcome {
  const visits = accounts
    .flatMap(({ visits }, process) =>
      visits.map(([ask, enter, exit]): Seen => ({ process, ask, enter, exit })),
    )
    .toSorted((one, other) => one.enter - other.enter)
  const waiting = accounts.flatMap(({ waitingSinceNs }) => waitingSinceNs)
  // Waiters left at the end count too, with their time until then: without them a starving lock would look good.
  const waitsNs = [
    ...visits.map(({ ask, enter }) => enter - ask),
    ...waiting.map((sinceNs) => Math.max(0, endNs - sinceNs)),
  ]
  const handOffs = oneKey ? handOffsOf(visits, Math.min(...waiting), endNs) : []
  const cpuMicroseconds = accounts.reduce((sum, account) => sum + account.cpuMicroseconds, 0)
  const overlaps = visits.filter(({ enter }, index) => enter < (visits[index - 1]?.exit ?? 0)).length
  return {
    perSecond: (visits.length / (endNs - startNs)) * NANOSECONDS_PER_MS * 1000,
    cpuMicroseconds: cpuMicroseconds / visits.length,
    handOffsMs: handOffs.map(({ tookMs }) => tookMs),
    crossingsMs: handOffs.filter(({ crossing }) => crossing).map(({ tookMs }) => tookMs),
    waitsMs: waitsNs.map((ns) => ns / NANOSECONDS_PER_MS),
    fairness: fairness(accounts.map((account) => account.visits.length)),
    overlaps: oneKey ? overlaps : 0,
  }
}

/** `longestWaiting` is when the first of those asked who still wait at the end. */
function handOffsOf(
  visits: readonly Seen[],
  longestWaiting: number,
  endNs: number,
): { tookMs: number; crossing: boolean }[] {
  return visits.flatMap(({ process, exit }, index) => {
    for (let after = index + 1; after < visits.length; after++) {
      const next = visits[after] as Seen
      if (next.ask <= exit)
        return [{ tookMs: (next.enter - exit) / NANOSECONDS_PER_MS, crossing: next.process !== process }]
    }
    return longestWaiting <= exit ? [{ tookMs: (endNs - exit) / NANOSECONDS_PER_MS, crossing: true }] : []
  })
}

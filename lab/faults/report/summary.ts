import { grantedOf } from '../check/story.ts'
import type { StoreName } from '../expectations.ts'
import type { Run } from '../run.ts'

/** The summary of a run: enough to add runs up, and to play one again. */
export interface Summary {
  readonly store: StoreName
  readonly seed: number
  readonly minutes: number
  readonly operations: number
  readonly grants: number
  readonly unknown: number
  readonly faults: Readonly<Record<string, number>>
  readonly classA: number
  readonly classB: { readonly refused: number; readonly accepted: number }
  readonly classC: number
  readonly staleWrites: number
  readonly lostWakeUps: number
  readonly inversions: number
  readonly worstRecoveryMs: number
  readonly controlsFlagged: number
  readonly violations: readonly { readonly check: string; readonly key: string; readonly what: string }[]
}

const MOST_VIOLATIONS = 20

export function summaryOf({ store, seed, minutes, story, verdict }: Run, controlsFlagged: number): Summary {
  const faults: Record<string, number> = {}
  for (const { kind } of story.faults) faults[kind] = (faults[kind] ?? 0) + 1
  const { classA, classB, classC, staleWrites, lostWakeUps, inversions, worstRecoveryMs } = verdict
  return {
    store,
    seed,
    minutes: Math.round(minutes * 100) / 100,
    operations: story.visits.length,
    grants: grantedOf(story.visits).length,
    unknown: story.visits.filter(({ outcome }) => outcome === 'unknown').length,
    faults: Object.fromEntries(Object.entries(faults).sort(([one], [other]) => (one < other ? -1 : 1))),
    ...{ classA, classB, classC: classC.length, staleWrites, lostWakeUps, inversions },
    worstRecoveryMs: Math.round(worstRecoveryMs),
    controlsFlagged,
    violations: verdict.violations
      .slice(0, MOST_VIOLATIONS)
      .map(({ check, key, what }) => ({ check, key, what })),
  }
}

/** The same faults again: what the machine makes of them may differ. */
export function replayCommand({ store, seed, minutes }: Pick<Summary, 'store' | 'seed' | 'minutes'>): string {
  return `npm run lab:faults -- --store ${store} --minutes ${Math.max(0.1, Math.floor(minutes * 10) / 10)} --seed ${seed}`
}

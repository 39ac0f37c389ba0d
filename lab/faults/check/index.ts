import type { Expectations } from '../expectations.ts'
import {
  CALL_TIMEOUT_MS,
  CUT_OFF_MS,
  PERMITS,
  RECOVERY_SLACK_MS,
  SETTLE_SLACK_MS,
  TTL_MS,
  WAKE_UP_MS,
} from '../settings.ts'
import { cutOff } from './cut-off.ts'
import { FaultWindows } from './fault-windows.ts'
import { ghosts } from './ghosts.ts'
import { lockModel } from './model.ts'
import { order } from './order.ts'
import { overlaps } from './overlaps.ts'
import { recovery } from './recovery.ts'
import { settled } from './settled.ts'
import type { Story } from './story.ts'
import { tokens } from './tokens.ts'
import type { Overlap, Violation } from './violation.ts'
import { wakeUps } from './wake-ups.ts'
import { writes } from './writes.ts'

/** Times of one run that differ in the controls, which are in a hurry. */
export interface Bounds {
  readonly ttlMs: number
  readonly recoverySlackMs: number
  readonly wakeUpMs: number
  readonly cutOffMs: number
}

export const BOUNDS: Bounds = {
  ttlMs: TTL_MS,
  recoverySlackMs: RECOVERY_SLACK_MS,
  wakeUpMs: WAKE_UP_MS,
  cutOffMs: CUT_OFF_MS,
}

export interface Verdict {
  /** Broken promises: a run with one has failed. */
  readonly violations: readonly Violation[]
  readonly classA: number
  /** Writes of holders that outlived their deadline: refused by the fence, or accepted before anybody else had come. */
  readonly classB: { readonly refused: number; readonly accepted: number }
  /** Overlaps that the store's own documents announce for such a fault. */
  readonly classC: readonly Overlap[]
  readonly staleWrites: number
  readonly lostWakeUps: number
  readonly inversions: number
  readonly worstRecoveryMs: number
}

/** Everything that a history is asked. */
export function examine(story: Story, expected: Expectations, bounds: Bounds = BOUNDS): Verdict {
  const windows = new FaultWindows(story)
  const { ttlMs, recoverySlackMs, wakeUpMs, cutOffMs } = bounds
  const rules = { ttlMs, permits: PERMITS, weaknesses: Object.keys(expected.weaknesses) }
  const found = overlaps(story, rules)
  const classA = found.filter((overlap) => overlap.class === 'A')
  const { late, stale } = writes(story)
  const recoveryMs = ttlMs + recoverySlackMs + expected.failoverMs
  const recovered = recovery(story, windows, recoveryMs)
  const lostWakeUps = wakeUps(story, windows, wakeUpMs, ttlMs + recoverySlackMs)
  const inversions = expected.fifo ? order(story, windows, ttlMs + recoverySlackMs) : []
  const model = lockModel(story, rules)
  return {
    violations: [
      ...classA,
      // An overlap explains itself better than the search that it also stops.
      ...model.filter(({ key }) => !classA.some((overlap) => overlap.key === key)),
      ...tokens(story, rules),
      ...stale,
      ...recovered.late,
      ...ghosts(story, recoveryMs),
      ...lostWakeUps,
      ...cutOff(story, windows, cutOffMs + expected.failoverMs),
      ...inversions,
      ...settled(story, windows, CALL_TIMEOUT_MS + SETTLE_SLACK_MS),
      ...story.left.map((what) => broken('leftovers', story, what)),
      ...story.complaints.map((what) => broken('manners', story, what)),
    ],
    classA: classA.length,
    classB: late,
    classC: found.filter((overlap) => overlap.class === 'C'),
    staleWrites: stale.length,
    lostWakeUps: lostWakeUps.length,
    inversions: inversions.length,
    worstRecoveryMs: recovered.worstMs,
  }
}

function broken(check: 'leftovers' | 'manners', story: Story, what: string): Violation {
  return { check, atMs: story.toMs, key: '', what, ops: [] }
}

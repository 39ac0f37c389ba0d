import type { Remains } from '../../core/facts.ts'
import { type Clock, type KeyState, type KeyView, lastLifeMs, step, viewOf } from '../../model/index.ts'
import { RULES } from './rules.ts'

const OVERDUE = 'rows that need not be remembered any more'

/** An operator's clean-up stops after so many small steps, so that others have their turn. */
export const CLEANING_STEPS = 20

/** The key after the passing of time, which only the next claim writes down. */
export function viewAt(key: string, state: KeyState, clock: Clock): KeyView {
  return viewOf(key, step(state, { kind: 'tick' }, clock, RULES).state, clock.nowMs)
}

export function overdueRows(table: string, count: number): Remains[] {
  return count > 0 ? [orphan(table, OVERDUE, count, null)] : []
}

export function isOverdueRows({ what }: Remains): boolean {
  return what === OVERDUE
}

export function deadLock(key: string, state: KeyState, nowMs: number, deadForMs: number): Remains[] {
  const endedMs = lastLifeMs(state)
  if (endedMs === null || nowMs - endedMs <= deadForMs) return []
  return [orphan(key, 'a lock whose holders and waiters are all dead', 1, nowMs - endedMs)]
}

function orphan(name: string, what: string, count: number, idleMs: number | null): Remains {
  return { kind: 'orphan', name, what, count, blocking: false, idleMs, proof: '' }
}

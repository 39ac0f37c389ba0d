import type { Remains } from '../../core/facts.ts'
import type { Traits } from '../../core/store.ts'
import {
  type Clock,
  type KeyState,
  type KeyView,
  lastLifeMs,
  type Rules,
  step,
  viewOf,
} from '../../model/index.ts'

const HOUR_MS = 3_600_000

/** The rules of the stores over SQL. */
export const SQL_RULES: Rules = { offerMs: 1000, keepSeqMs: 24 * HOUR_MS, mostOffers: 100 }

/** A row is kept this much longer than needed, so that an hour of grants leaves the index of clean-up alone. */
export const FORGET_SLACK_MS = HOUR_MS

/** A token that no hold has: to evict it applies the passing of time to a key, and no more. */
export const NO_TOKEN = 0n

/** The traits that SQLite, PostgreSQL and MySQL have in common: all that the model can do. */
export const FULL_TRAITS = {
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  immediate: false,
} as const satisfies Partial<Traits>

const OVERDUE = 'rows that need not be remembered any more'

/** An operator's clean-up stops after so many small steps, so that others have their turn. */
export const CLEANING_STEPS = 20

/** The key after the passing of time, which only the next claim writes down. */
export function viewAt(key: string, state: KeyState, clock: Clock): KeyView {
  return viewOf(key, step(state, { kind: 'tick' }, clock, SQL_RULES).state, clock.nowMs)
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

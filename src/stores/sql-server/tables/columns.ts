import type { Claim } from '../../../model/index.ts'
import { SQL_RULES } from '../../shared/sql.ts'

import type { ClaimRow } from './database.ts'
import { type KeyWrite, permitColumns } from './key-snapshot.ts'
import { encodeName } from './rows.ts'

/** The columns that statements take, with their types in PostgreSQL. */
export type Columns = Readonly<Record<string, string>>
export type ColumnValues = Readonly<Record<string, string | number | boolean | null>>

/** The claim in the row of its key. */
export const HOLDER = {
  holder: 'text',
  hold_seq: 'bigint',
  weight: 'int',
  owner: 'text',
  actor: 'text',
  label: 'text',
  meta: 'text',
  inbox: 'text',
  since: 'bigint',
  expires_at: 'bigint',
  lock_delay: 'bigint',
} as const

/** The columns of a key that a step writes; the numbers of claims are differences. */
export const KEY = {
  key: 'text',
  revision: 'bigint',
  seq: 'bigint',
  mode: 'text',
  permits: 'int',
  holds: 'int',
  used: 'int',
  waiting: 'int',
  others: 'int',
  joined: 'int',
  closed_until: 'bigint',
  forget_at: 'bigint',
  ...HOLDER,
} as const

export const GONE = { key: 'text', id: 'text', dead: 'boolean' } as const

/** A claim in a row of its own. */
export const CLAIM = {
  key: 'text',
  id: 'text',
  state: 'text',
  ticket: 'bigint',
  mode: 'text',
  permits: 'int',
  weight: 'int',
  seq: 'bigint',
  owner: 'text',
  actor: 'text',
  label: 'text',
  meta: 'text',
  inbox: 'text',
  since: 'bigint',
  expires_at: 'bigint',
  ttl: 'bigint',
  lock_delay: 'bigint',
} as const

/** A claim that has no row yet; `needed` is how long its key's row must be kept. */
export const NEW_CLAIM = {
  key: 'text',
  id: 'text',
  ttl: 'bigint',
  needed: 'bigint',
  mode: 'text',
  permits: 'int',
  weight: 'int',
  owner: 'text',
  actor: 'text',
  label: 'text',
  meta: 'text',
  inbox: 'text',
  lock_delay: 'bigint',
} as const

const NO_HOLDER: ColumnValues = Object.fromEntries(
  Object.entries(HOLDER).map(([name, type]) => [name, type === 'text' ? null : 0]),
)

export function newClaimValues(claim: Claim, inbox: string | null): ColumnValues {
  const { key, ttlMs, lockDelayMs } = claim
  const needed = Math.max(SQL_RULES.keepSeqMs, ttlMs + lockDelayMs)
  return { ...commonValues({ ...claim, inbox }), key, ttl: ttlMs, needed }
}

export function keyValues(write: KeyWrite): ColumnValues {
  const { key, revision, seq, mode, holds, used, waiting, others, joined, holder } = write
  return {
    ...(holder === null
      ? NO_HOLDER
      : { ...claimValues(holder), holder: encodeName(holder.id), hold_seq: holder.seq }),
    ...{ key, revision, seq, holds, used, waiting, others, joined },
    mode: mode?.kind ?? null,
    permits: permitColumns(mode).limit,
    closed_until: write.closedUntilMs,
    forget_at: write.forgetAtMs,
  }
}

export function claimValues(claim: ClaimRow): ColumnValues {
  const { state, ticket, seq, sinceMs, expiresAtMs, ttlMs } = claim
  return { ...commonValues(claim), state, ticket, seq, since: sinceMs, expires_at: expiresAtMs, ttl: ttlMs }
}

function commonValues(claim: Omit<ClaimRow, 'state' | 'ticket' | 'seq' | 'sinceMs' | 'expiresAtMs'>) {
  const { id, mode, owner, actor, label, meta, inbox, lockDelayMs } = claim
  const { limit, weight } = permitColumns(mode)
  return {
    id: encodeName(id),
    ...{ mode: mode.kind, permits: limit, weight },
    owner: encodeName(owner),
    actor: encodeName(actor),
    label: encodeName(label),
    meta: encodeName(meta),
    inbox,
    lock_delay: lockDelayMs,
  }
}

/**
 * True if the first waiter of `k`, the row of a key, cannot be admitted. `key` is the quoted name of the column here and below.
 */
export function keepsOut(claims: string, key: string): string {
  return `(k.waiting = 0 OR NOT coalesce((
    SELECT k.mode = 'shared' AND w.mode = 'shared' OR k.mode = 'permits' AND k.used + w.weight <= k.permits
    FROM ${claims} w WHERE w.${key} = k.${key} AND w.state = 'waiting' ORDER BY w.ticket LIMIT 1), false))`
}

/** True of every hold but the newest. A step admits a bounded number of waiters, and the newest holder admits the next ones. */
export function isOlder(seq: string): string {
  return `${seq} < k.seq`
}

/** True if a step of a holder that goes on holding admits nobody. */
export function admitsNobody(claims: string, key: string, seq: string): string {
  return `(${isOlder(seq)} OR ${keepsOut(claims, key)})`
}

/** True if the end of a hold admits nobody; `whileOthersHold` is the condition where other holds stay. */
export function leavesNoRoom(whileOthersHold: string): string {
  return `(k.waiting = 0 OR k.mode = 'shared' AND k.holds > 1 AND ${whileOthersHold})`
}

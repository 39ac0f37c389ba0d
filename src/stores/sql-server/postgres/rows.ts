import type { Clock, Mode } from '../../../model/index.ts'
import {
  type ClaimRow,
  type ClaimStatus,
  type ClaimStatuses,
  claimName,
  type KeyRow,
} from '../tables/database.ts'
import { modeFrom } from '../tables/key-snapshot.ts'
import { decodeName, decodeNameOrNull } from '../tables/texts.ts'
import type { Row } from './clients/client.ts'

/** A row of the keys, as JSON or as the client gives it. */
export function rowOf(row: Row): KeyRow {
  const mode = modeFrom(text(row.mode), Number(row.permits), Number(row.weight))
  return {
    revision: Number(row.revision),
    seq: Number(row.seq),
    mode,
    holds: Number(row.holds),
    used: Number(row.used),
    waiting: Number(row.waiting),
    others: Number(row.others),
    closedUntilMs: Number(row.closed_until),
    holder: row.holder === null ? null : holderOf(row, mode as Mode),
    forgetAtMs: Number(row.forget_at),
  }
}

export function claimOf(row: Row): ClaimRow {
  return {
    id: decodeName(row.id as string),
    state: row.state as ClaimRow['state'],
    ticket: Number(row.ticket),
    mode: modeFrom(text(row.mode), Number(row.permits), Number(row.weight)) as Mode,
    seq: Number(row.seq),
    ...commonOf(row),
    ttlMs: Number(row.ttl),
  }
}

export function placesOf(found: readonly Row[]): ClaimStatuses {
  const places = new Map<string, ClaimStatus>()
  const heads = new Map<string, number[]>()
  for (const { key, id, state, ticket, seq, owner, since, expires_at } of found) {
    if (key === null) continue
    if (id === null) {
      const tickets = heads.get(key as string) ?? []
      tickets.push(Number(ticket))
      heads.set(key as string, tickets)
      continue
    }
    const expiresAtMs = Number(expires_at)
    const place: ClaimStatus =
      state === 'waiting'
        ? { kind: 'waiting', ticket: Number(ticket), expiresAtMs }
        : { kind: 'held', seq: Number(seq), owner: text(owner), sinceMs: Number(since), expiresAtMs }
    places.set(claimName(key as string, decodeName(id as string)), place)
  }
  for (const tickets of heads.values()) tickets.sort((a, b) => a - b)
  return { clock: clockOf(found), statuses: places, heads }
}

/** How many wait for a key that a claim has joined, and a holder of it. */
export function joinedFrom(row: Row) {
  const label = text(row.label)
  const [sinceMs, expiresAtMs] = [Number(row.since), Number(row.expires_at)]
  return { waiting: Number(row.waiting), holder: label === null ? null : { label, sinceMs, expiresAtMs } }
}

export function clockOf(found: readonly Row[]): Clock {
  const stampUs = Number(found[0]?.us)
  return { nowMs: Math.floor(stampUs / 1000), stampUs }
}

function holderOf(row: Row, mode: Mode): ClaimRow {
  const id = decodeName(row.holder as string)
  return { id, state: 'held', ticket: 0, mode, seq: Number(row.hold_seq), ...commonOf(row), ttlMs: 0 }
}

function commonOf(row: Row) {
  return {
    owner: decodeNameOrNull(text(row.owner)),
    actor: decodeNameOrNull(text(row.actor)),
    label: decodeName((row.label ?? '') as string),
    meta: decodeNameOrNull(text(row.meta)),
    inbox: text(row.inbox),
    sinceMs: Number(row.since),
    expiresAtMs: Number(row.expires_at),
    lockDelayMs: Number(row.lock_delay),
  }
}

function text(value: unknown): string | null {
  return value as string | null
}

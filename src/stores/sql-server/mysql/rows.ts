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

/** A claim beside the row of its key, with names that begin with `c_`. */
export function claimOf(row: Row): ClaimRow {
  return {
    id: decodeName(text(row.c_id) as string),
    state: text(row.c_state) as ClaimRow['state'],
    ticket: Number(row.c_ticket),
    mode: modeFrom(text(row.c_mode), Number(row.c_permits), Number(row.c_weight)) as Mode,
    seq: Number(row.c_seq),
    ...commonOf(row, 'c_'),
    ttlMs: Number(row.c_ttl),
  }
}

export function placesOf(found: readonly Row[]): ClaimStatuses {
  const places = new Map<string, ClaimStatus>()
  const heads = new Map<string, number[]>()
  for (const { key: name, id, state, ticket, seq, owner, since, expires_at } of found) {
    const key = text(name)
    if (key === null) continue
    if (id === null) {
      const tickets = heads.get(key) ?? []
      tickets.push(Number(ticket))
      heads.set(key, tickets)
      continue
    }
    const expiresAtMs = Number(expires_at)
    const place: ClaimStatus =
      text(state) === 'waiting'
        ? { kind: 'waiting', ticket: Number(ticket), expiresAtMs }
        : { kind: 'held', seq: Number(seq), owner: text(owner), sinceMs: Number(since), expiresAtMs }
    places.set(claimName(key, decodeName(text(id) as string)), place)
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

export function bytes(value: string): Buffer {
  return Buffer.from(value)
}

export function orNull(value: string | null): Buffer | null {
  return value === null ? null : bytes(value)
}

export function text(value: unknown): string | null {
  return value === null ? null : Buffer.isBuffer(value) ? value.toString() : String(value)
}

function holderOf(row: Row, mode: Mode): ClaimRow {
  const id = decodeName(text(row.holder) as string)
  return { id, state: 'held', ticket: 0, mode, seq: Number(row.hold_seq), ...commonOf(row, ''), ttlMs: 0 }
}

function commonOf(row: Row, before: '' | 'c_') {
  const of = (name: string) => row[`${before}${name}`]
  return {
    owner: decodeNameOrNull(text(of('owner'))),
    actor: decodeNameOrNull(text(of('actor'))),
    label: decodeName(text(of('label')) ?? ''),
    meta: decodeNameOrNull(text(of('meta'))),
    inbox: text(of('inbox')),
    sinceMs: Number(of('since')),
    expiresAtMs: Number(of('expires_at')),
    lockDelayMs: Number(of('lock_delay')),
  }
}

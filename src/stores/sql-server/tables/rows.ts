import type { Clock, Mode } from '../../../model/index.ts'
import {
  type ClaimRow,
  type ClaimStatus,
  type ClaimStatuses,
  type KeyRow,
  nameOfClaim,
  type RecordRow,
  type TableSnapshot,
} from './database.ts'
import { modeFrom } from './key-snapshot.ts'

/** A row as a client of PostgreSQL or MySQL gives it: numbers may be texts, and texts bytes. */
export type Row = Readonly<Record<string, unknown>>

export function text(value: unknown): string | null {
  return value === null ? null : Buffer.isBuffer(value) ? value.toString() : String(value)
}

/**
 * A name as a column keeps it. Databases refuse U+0000 and lone surrogates, so such names are written as JSON behind a
 * backslash; so are names that begin with a backslash.
 */
export function encodeName<T extends string | null>(name: T): T {
  if (name === null) return name
  const isOdd = name.startsWith('\\') || name.includes('\0') || /[\ud800-\udfff]/u.test(name)
  return isOdd ? (`\\${JSON.stringify(name)}` as T) : name
}

export function decodeName<T extends string | null>(column: T): T {
  return column?.startsWith('\\') === true ? (JSON.parse(column.slice(1)) as T) : column
}

export function keyRowOf(row: Row): KeyRow {
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

/** `before` is the prefix of the claim's columns in a row that has others beside them. */
export function claimRowOf(row: Row, before = ''): ClaimRow {
  const of = (name: string) => row[`${before}${name}`]
  return {
    id: decodeName(text(of('id')) as string),
    state: text(of('state')) as ClaimRow['state'],
    ticket: Number(of('ticket')),
    mode: modeFrom(text(of('mode')), Number(of('permits')), Number(of('weight'))) as Mode,
    seq: Number(of('seq')),
    ...commonOf(of),
    ttlMs: Number(of('ttl')),
  }
}

export function statusesOf(found: readonly Row[]): ClaimStatuses {
  const statuses = new Map<string, ClaimStatus>()
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
    const status: ClaimStatus =
      text(state) === 'waiting'
        ? { kind: 'waiting', ticket: Number(ticket), expiresAtMs }
        : { kind: 'held', seq: Number(seq), owner: text(owner), sinceMs: Number(since), expiresAtMs }
    statuses.set(nameOfClaim(key, decodeName(text(id) as string)), status)
  }
  for (const tickets of heads.values()) tickets.sort((a, b) => a - b)
  return { clock: clockOf(found), statuses, heads }
}

export function recordSnapshotOf(found: readonly Row[]): TableSnapshot<RecordRow> {
  const rows = new Map<string, RecordRow>()
  for (const { key, revision, version, value, expires_at } of found) {
    if (revision === null) continue
    rows.set(text(key) as string, {
      revision: Number(revision),
      version: Number(version),
      value: text(value),
      expiresAtMs: expires_at === null ? null : Number(expires_at),
    })
  }
  return { clock: clockOf(found), rows }
}

/** How many claims wait for a key that one has joined, and a holder of it. */
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
  const id = decodeName(text(row.holder) as string)
  const common = commonOf((name) => row[name])
  return { id, state: 'held', ticket: 0, mode, seq: Number(row.hold_seq), ...common, ttlMs: 0 }
}

function commonOf(of: (name: string) => unknown) {
  return {
    owner: decodeName(text(of('owner'))),
    actor: decodeName(text(of('actor'))),
    label: decodeName(text(of('label')) ?? ''),
    meta: decodeName(text(of('meta'))),
    inbox: text(of('inbox')),
    sinceMs: Number(of('since')),
    expiresAtMs: Number(of('expires_at')),
    lockDelayMs: Number(of('lock_delay')),
  }
}

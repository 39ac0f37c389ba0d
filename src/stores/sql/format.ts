import { UnsupportedError } from '../../errors.ts'
import type { Hold, KeyState, Member, Mode, Waiter } from '../../model/index.ts'

/** The version of everything that is written to a database. A newer one is refused, never guessed at. */
export const FORMAT = 1

/** What a row remembers of a key beside its state: both survive the state, which is null for a free key. */
export interface Remembered {
  readonly seq: number
  readonly seqKeptUntilMs: number
}

// Lists in place of objects: a busy key is read and written for every waiter, and names would be most of its text.
type WrittenMode = 'x' | 's' | readonly [limit: number, weight: number]
type WrittenMember = readonly [
  id: string,
  expiresAtMs: number,
  sinceMs: number,
  label: string,
  actor: string | null,
  meta: string | null,
  lockDelayMs: number,
  inbox: string | null,
]
/** A hold with the row's own sequence number is written without it, so that the row's is the only copy. */
type WrittenHold = readonly [
  owner: string | null,
  mode: WrittenMode,
  seq: number | null,
  members: readonly WrittenMember[],
]
type WrittenWaiter = readonly [
  id: string,
  mode: WrittenMode,
  ttlMs: number,
  owner: string | null,
  actor: string | null,
  label: string,
  meta: string | null,
  lockDelayMs: number,
  inbox: string | null,
  joinedAtMs: number,
  expiresAtMs: number,
]
type Written = readonly [
  format: number,
  holds: readonly WrittenHold[],
  line: readonly WrittenWaiter[],
  closedUntilMs: number,
]

/** Null for a state that says nothing but the sequence number. */
export function encodeState({ holds, line, closedUntilMs, seq }: KeyState, nowMs: number): string | null {
  if (holds.length === 0 && line.length === 0 && closedUntilMs <= nowMs) return null
  const written: Written = [
    FORMAT,
    holds.map((hold) => writeHold(hold, seq)),
    line.map(writeWaiter),
    closedUntilMs,
  ]
  return JSON.stringify(written)
}

export function decodeState(key: string, text: string | null, { seq, seqKeptUntilMs }: Remembered): KeyState {
  if (text === null) return { holds: [], line: [], seq, seqKeptUntilMs, closedUntilMs: 0 }
  const [format, holds, line, closedUntilMs] = JSON.parse(text) as Written
  refuseNewer(format, 'a key')
  return {
    holds: holds.map((hold) => readHold(hold, seq)),
    line: line.map((waiter) => readWaiter(waiter, key)),
    seq,
    seqKeptUntilMs,
    closedUntilMs,
  }
}

export function refuseNewer(format: number, what: string): void {
  if (format <= FORMAT) return
  throw new UnsupportedError(
    `the database holds ${what} in format ${format}, and this version of holdfast knows formats up to ${FORMAT}: upgrade holdfast in this process`,
  )
}

function writeMode(mode: Mode): WrittenMode {
  if (mode.kind === 'permits') return [mode.limit, mode.weight]
  return mode.kind === 'exclusive' ? 'x' : 's'
}

function readMode(written: WrittenMode): Mode {
  if (typeof written === 'object') return { kind: 'permits', limit: written[0], weight: written[1] }
  return { kind: written === 'x' ? 'exclusive' : 'shared' }
}

function writeHold({ owner, mode, seq, members }: Hold, rowSeq: number): WrittenHold {
  return [owner, writeMode(mode), seq === rowSeq ? null : seq, members.map(writeMember)]
}

function readHold([owner, mode, seq, members]: WrittenHold, rowSeq: number): Hold {
  return { owner, mode: readMode(mode), seq: seq ?? rowSeq, members: members.map(readMember) }
}

function writeMember({
  id,
  expiresAtMs,
  sinceMs,
  label,
  actor,
  meta,
  lockDelayMs,
  inbox,
}: Member): WrittenMember {
  return [id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox]
}

function readMember(written: WrittenMember): Member {
  const [id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox] = written
  return { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
}

function writeWaiter({ claim, inbox, joinedAtMs, expiresAtMs }: Waiter): WrittenWaiter {
  const { id, mode, ttlMs, owner, actor, label, meta, lockDelayMs } = claim
  return [id, writeMode(mode), ttlMs, owner, actor, label, meta, lockDelayMs, inbox, joinedAtMs, expiresAtMs]
}

/** Whoever is in the line asked for it, and neither groups nor adopters ever are. */
function readWaiter(written: WrittenWaiter, key: string): Waiter {
  const [id, mode, ttlMs, owner, actor, label, meta, lockDelayMs, inbox, joinedAtMs, expiresAtMs] = written
  const claim = { key, id, mode: readMode(mode), ttlMs, queue: true, owner, actor, label, meta, lockDelayMs }
  return { claim: { ...claim, group: null, replaces: null }, inbox, joinedAtMs, expiresAtMs }
}

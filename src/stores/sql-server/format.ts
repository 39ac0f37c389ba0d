import { UnsupportedError } from '../../errors.ts'
import type { Hold, KeyState, Member, Mode, QueuedClaim } from '../../model/index.ts'

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

export function decodeState(key: string, text: string | null, { seq, seqKeptUntilMs }: Remembered): KeyState {
  if (text === null) return { holds: [], queue: [], seq, seqKeptUntilMs, closedUntilMs: 0 }
  const written = JSON.parse(text) as Written
  refuseNewer(written[0], 'a key')
  return {
    holds: written[1].map((hold) => readHold(hold, seq)),
    queue: written[2].map((waiter) => readWaiter(waiter, key)),
    seq,
    seqKeptUntilMs,
    closedUntilMs: written[3],
  }
}

export function refuseNewer(format: number, what: string): void {
  if (format <= FORMAT) return
  throw new UnsupportedError(
    `the database holds ${what} in format ${format}, and this version of holdfast knows formats up to ${FORMAT}: upgrade holdfast in this process`,
  )
}

function readMode(written: WrittenMode): Mode {
  if (typeof written === 'object') return { kind: 'permits', limit: written[0], weight: written[1] }
  return { kind: written === 'x' ? 'exclusive' : 'shared' }
}

// By index: taking a list apart by a pattern goes through its iterator, which is most of the cost of a busy key.

function readHold(written: WrittenHold, rowSeq: number): Hold {
  return {
    owner: written[0],
    mode: readMode(written[1]),
    seq: written[2] ?? rowSeq,
    members: written[3].map(readMember),
  }
}

function readMember(written: WrittenMember): Member {
  return {
    id: written[0],
    expiresAtMs: written[1],
    sinceMs: written[2],
    label: written[3],
    actor: written[4],
    meta: written[5],
    lockDelayMs: written[6],
    inbox: written[7],
  }
}

/** Whoever is in the line asked for it, and neither groups nor adopters ever are. */
function readWaiter(written: WrittenWaiter, key: string): QueuedClaim {
  return {
    claim: {
      key,
      id: written[0],
      mode: readMode(written[1]),
      ttlMs: written[2],
      queue: true,
      owner: written[3],
      actor: written[4],
      label: written[5],
      meta: written[6],
      lockDelayMs: written[7],
      group: null,
      replaces: null,
    },
    inbox: written[8],
    joinedAtMs: written[9],
    expiresAtMs: written[10],
  }
}

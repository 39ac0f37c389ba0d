import type { Hold, KeyState, Member, Mode, Waiter } from './types.ts'

/** A claim that holds its key or waits for it, as an index keeps it: one row for each. */
export interface IndexedClaim {
  readonly id: string
  readonly held: boolean
  /** Which hold of the key: claims of one owner share one. Holds stand in the order of these numbers. */
  readonly hold: number
  /** Rises with every claim of the key: the order of the queue, and of the claims inside a hold. */
  readonly ticket: number
  /** Of the hold, for a claim that holds. */
  readonly mode: Mode
  /** Zero while it waits. */
  readonly seq: number
  readonly owner: string | null
  readonly actor: string | null
  readonly label: string
  readonly meta: string | null
  readonly ttlMs: number
  readonly lockDelayMs: number
  readonly inbox: string | null
  /** When it was granted, or when it joined the queue. */
  readonly sinceMs: number
  readonly expiresAtMs: number
}

/** What a step needs to know of a key without looking at its claims. A step changes it in place. */
export interface KeySummary {
  seq: number
  seqKeptUntilMs: number
  closedUntilMs: number
  /** How the key is held; null while nobody holds it. */
  mode: Mode['kind'] | null
  /** The limit of a semaphore in use, and how many of its permits are taken. */
  limit: number
  used: number
  /** How many claims hold, and how many wait. */
  holders: number
  waiters: number
  /** The last ticket that was given out. */
  lastTicket: number
}

/** One key whose claims can be found without reading all of them. No method costs more than O(log n), but for those that say so. */
export interface KeyIndex {
  readonly summary: KeySummary
  /** A holder or a waiter, also one whose time is over. */
  find(id: string): IndexedClaim | undefined
  add(claim: IndexedClaim): void
  /** Puts another version of a claim in its place; `next` may have another id. */
  replace(claim: IndexedClaim, next: IndexedClaim): void
  remove(claim: IndexedClaim): void
  /** The first holders, in the order of their holds. */
  holders(most: number): readonly IndexedClaim[]
  /** Every holder with that sequence number; costs O(holders), and only an operator asks. */
  holdersWith(seq: number): readonly IndexedClaim[]
  /** One of the claims that an owner holds the key with. */
  ownHold(owner: string): IndexedClaim | undefined
  /** Whether other claims are in the hold of this one. */
  isShared(claim: IndexedClaim): boolean
  /** The first of the queue. */
  head(): IndexedClaim | undefined
  /** The first waiter of an owner whom a hold of `mode` gives enough. */
  firstOf(owner: string, mode: Mode): IndexedClaim | undefined
  /** The ticket of the first of the queue. */
  firstTicket(): number | null
  /** How many waiters stand before `claim`, of whom at most so many are counted, and when the first of these ends. */
  waitersBefore(claim: IndexedClaim, most: number): { readonly count: number; readonly endMs: number | null }
  /** Claims whose time is over, at most so many. */
  expired(nowMs: number, most: number): readonly IndexedClaim[]
  /** When the next holder or waiter ends. */
  nextEndMs(held: boolean): number | null
  /** Whether the process of a waiter is known to have ended, so that an offer to it would be for nothing. */
  isGone?(claim: IndexedClaim): boolean
}

export function emptySummary(seq = 0, seqKeptUntilMs = 0, closedUntilMs = 0): KeySummary {
  return {
    seq,
    seqKeptUntilMs,
    closedUntilMs,
    mode: null,
    limit: 0,
    used: 0,
    holders: 0,
    waiters: 0,
    lastTicket: 0,
  }
}

/** The same key as the plain data of the model; `holders` and `waiters` stand in their order. */
export function stateOf(
  key: string,
  { seq, seqKeptUntilMs, closedUntilMs }: KeySummary,
  holders: Iterable<IndexedClaim>,
  waiters: Iterable<IndexedClaim>,
): KeyState {
  const holds = new Map<number, Hold & { readonly members: Member[] }>()
  for (const claim of holders) {
    const { owner, mode, hold: number } = claim
    const hold = holds.get(number) ?? { owner, mode, seq: claim.seq, members: [] }
    hold.members.push(memberOf(claim))
    holds.set(number, hold)
  }
  const line = Array.from(waiters, (claim) => waiterOf(key, claim))
  return { holds: [...holds.values()], line, seq, seqKeptUntilMs, closedUntilMs }
}

/** Every claim of a state, holders first, in the order in which an index has to be given them. */
export function* claimsOf({ holds, line }: KeyState): Generator<IndexedClaim> {
  let ticket = 0
  for (const { owner, mode, seq, members } of holds) {
    const hold = ticket + 1
    for (const member of members)
      yield { ...member, owner, mode, seq, held: true, hold, ticket: ++ticket, ttlMs: 0 }
  }
  for (const { claim, inbox, joinedAtMs, expiresAtMs } of line) {
    const { id, mode, owner, actor, label, meta, ttlMs, lockDelayMs } = claim
    const fields = { id, mode, owner, actor, label, meta, ttlMs, lockDelayMs, inbox, expiresAtMs }
    yield { ...fields, held: false, hold: 0, ticket: ++ticket, seq: 0, sinceMs: joinedAtMs }
  }
}

function memberOf(claim: IndexedClaim): Member {
  const { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox } = claim
  return { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
}

/** A claim that waits asked for it, and neither groups nor adopters ever do. */
function waiterOf(key: string, claim: IndexedClaim): Waiter {
  const { id, mode, ttlMs, owner, actor, label, meta, lockDelayMs, inbox, sinceMs, expiresAtMs } = claim
  return {
    claim: {
      ...{ key, id, mode, ttlMs, queue: true, owner, actor, label, meta, lockDelayMs },
      group: null,
      replaces: null,
    },
    inbox,
    joinedAtMs: sinceMs,
    expiresAtMs,
  }
}

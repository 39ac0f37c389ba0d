import type { Hold, KeyState, Member, Mode, QueuedClaim } from './types.ts'

/** A claim that holds its key or waits for it, as one row of an index. */
export interface IndexedClaim {
  readonly id: string
  readonly held: boolean
  /** The number of its hold: claims of one owner share one. Holds are in the order of these numbers. */
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

/** The part of a key that a step needs without reading its claims. A step changes it in place. */
export interface KeySummary {
  seq: number
  seqKeptUntilMs: number
  closedUntilMs: number
  /** The mode of its holds; null while there are none. */
  mode: Mode['kind'] | null
  /** The limit of a semaphore in use, and how many of its permits are taken. */
  limit: number
  used: number
  /** The numbers of claims that hold and that wait. */
  holders: number
  waiters: number
  /** The last ticket that was given out. */
  lastTicket: number
}

/** A key whose claims can be found without reading all of them. No method costs more than O(log n) unless it says so. */
export interface KeyIndex {
  readonly summary: KeySummary
  /** A holder or a waiter, also an expired one. */
  find(id: string): IndexedClaim | undefined
  add(claim: IndexedClaim): void
  /** Replaces a claim where it stands; `next` may have another id. */
  replace(claim: IndexedClaim, next: IndexedClaim): void
  remove(claim: IndexedClaim): void
  /** The first holders, in the order of their holds. */
  holders(most: number): readonly IndexedClaim[]
  /** Every holder with that sequence number; costs O(holders), and only an operator asks. */
  holdersWith(seq: number): readonly IndexedClaim[]
  /** One of the claims of an owner's hold. */
  ownHold(owner: string): IndexedClaim | undefined
  /** True if the hold of this claim has other claims. */
  isShared(claim: IndexedClaim): boolean
  /** The first of the queue. */
  head(): IndexedClaim | undefined
  /** The first waiter of an owner that a hold of `mode` covers. */
  firstOf(owner: string, mode: Mode): IndexedClaim | undefined
  /** The ticket of the first of the queue. */
  firstTicket(): number | null
  /** The number of waiters before `claim`, counted up to `most`, and when the first of these expires. */
  waitersBefore(claim: IndexedClaim, most: number): { readonly count: number; readonly endMs: number | null }
  /** Expired claims, at most so many. */
  expired(nowMs: number, most: number): readonly IndexedClaim[]
  /** When the next holder or waiter expires. */
  nextEndMs(held: boolean): number | null
  /** True if the process of a waiter is known to have ended: an offer to it would be lost. */
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

/** The same key as plain data of the model; `holders` and `waiters` come in their order. */
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
  const queue = Array.from(waiters, (claim) => waiterOf(key, claim))
  return { holds: [...holds.values()], queue, seq, seqKeptUntilMs, closedUntilMs }
}

/** Every claim of a state, holders first, in the order in which an index takes them. */
export function* claimsOf({ holds, queue }: KeyState): Generator<IndexedClaim> {
  let ticket = 0
  for (const { owner, mode, seq, members } of holds) {
    const hold = ticket + 1
    for (const member of members)
      yield { ...member, owner, mode, seq, held: true, hold, ticket: ++ticket, ttlMs: 0 }
  }
  for (const { claim, inbox, joinedAtMs, expiresAtMs } of queue) {
    const { id, mode, owner, actor, label, meta, ttlMs, lockDelayMs } = claim
    const fields = { id, mode, owner, actor, label, meta, ttlMs, lockDelayMs, inbox, expiresAtMs }
    yield { ...fields, held: false, hold: 0, ticket: ++ticket, seq: 0, sinceMs: joinedAtMs }
  }
}

function memberOf(claim: IndexedClaim): Member {
  const { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox } = claim
  return { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
}

/** Only a claim with `queue` waits, and neither groups nor adopters have it. */
function waiterOf(key: string, claim: IndexedClaim): QueuedClaim {
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

import {
  type Blocked,
  type Claim,
  type Clock,
  covers,
  MOST_TOLD_OF_CONTENTION,
  mismatch,
  nextSeq,
  ownHold,
  type Refused,
  refused,
} from '../../../model/index.ts'
import { EVERY_BALLOT, FIRST_PROPOSAL, type Question, type Vote, type VoteGranted } from '../protocol.ts'
import { NodeDraft } from './draft.ts'
import {
  type AddressedNotification,
  AHEAD_US,
  capacityOf,
  capacityTaken,
  isBefore,
  type NodeHold,
  type NodeState,
  type NodeWaiter,
  type Voter,
  voterOf,
} from './state.ts'

type ClaimQuestion = Question & { kind: 'claim' }
type JoinQuestion = Question & { kind: 'join' }
type RenewQuestion = Question & { kind: 'renew' }

/**
 * The answer of a node to a question, as a pure function: the new state of the key, the vote, and notifications to others.
 * `calledBefore` counts the waiters that earlier questions of the same request have called.
 */
export function answer(
  state: NodeState,
  question: Question,
  clock: Clock,
  calledBefore = 0,
): { state: NodeState; vote: Vote; notifications: readonly AddressedNotification[] } {
  const draft = new NodeDraft(question.claim.key, state, clock, calledBefore)
  dropExpired(draft, question.claim.id)
  const vote = apply(draft, question, clock)
  return { state: draft.finish(), vote, notifications: draft.notifications }
}

/** The state after everything that has expired by now was dropped. */
export function counted(key: string, state: NodeState, clock: Clock): NodeState {
  return new NodeDraft(key, state, clock, 0).finish()
}

/** An operator ends the holds of these claims, or asks their holders to let go. */
export function evictHolders(
  key: string,
  state: NodeState,
  ids: readonly string[],
  ask: boolean,
  clock: Clock,
): { state: NodeState; notifications: readonly AddressedNotification[] } {
  const draft = new NodeDraft(key, state, clock, 0)
  for (const id of ids) {
    dropExpired(draft, id)
    const found = draft.find(id)
    if (found === undefined) continue
    draft.tell(found.voter.inbox, ask ? 'revoked' : 'evicted', id)
    if (!ask) draft.change(found.hold, found.voter, null)
  }
  if (!ask) draft.call()
  return { state: draft.finish(), notifications: draft.notifications }
}

/** One step drops a limited number of expired claims; the claim of the question must not be among the rest. */
function dropExpired(draft: NodeDraft, id: string): void {
  const voter = draft.find(id)?.voter
  if (voter !== undefined && voter.expiresAtMs <= draft.nowMs) draft.expire(voter)
  const waiter = draft.waiterOf(id)
  if (waiter !== undefined && waiter.expiresAtMs <= draft.nowMs) draft.leave(id)
}

function apply(draft: NodeDraft, question: Question, clock: Clock): Vote {
  switch (question.kind) {
    case 'claim':
      return claim(draft, question, clock)
    case 'join':
      return join(draft, question)
    case 'renew':
      return renew(draft, question)
    case 'raise':
      return raise(draft, question.claim.id, question.seq)
    case 'release':
      return release(draft, question.claim.id, question.ballot)
  }
}

function claim(draft: NodeDraft, question: ClaimQuestion, clock: Clock): Vote {
  const { claim: wanted, ballot } = question
  if (ballot > clock.stampUs + AHEAD_US) return { kind: 'ahead' }
  const found = draft.find(wanted.id)
  if (found !== undefined) return reclaim(draft, question, found.hold, found.voter)
  if (wanted.replaces !== null) return refused('absent', 'the lease is no longer held')
  const refusal = refusalOf(draft, wanted)
  if (refusal !== null) return refusal
  const own = ownHold(draft.holds, wanted) as NodeHold | undefined
  if (own === undefined && !admits(draft, question)) return block(draft, question)
  draft.leave(wanted.id)
  const voter = voterOf(wanted, question.inbox, ballot, question.ticket, draft.nowMs)
  if (own !== undefined) {
    draft.join(own, voter)
    draft.call()
    return granted(draft, own.seq)
  }
  const seq = nextSeq(draft.seq, ballot < FIRST_PROPOSAL ? clock.stampUs : ballot)
  draft.remember(seq)
  const hold: NodeHold = { owner: wanted.owner, mode: wanted.mode, seq, members: [voter] }
  draft.add(hold)
  draft.callJoiners(hold)
  draft.call()
  return granted(draft, seq)
}

/** A refusal is final, so a refused claim must not keep a position that others wait behind. */
function refusalOf(draft: NodeDraft, wanted: Claim): Refused | null {
  const own = ownHold(draft.holds, wanted)
  const refusal =
    mismatch(draft, wanted) ??
    (own === undefined || covers(own.mode, wanted.mode)
      ? null
      : refused(
          'upgrade',
          'the owner holds the key already, with less than it now asks for: release that first',
        ))
  if (refusal !== null && draft.leave(wanted.id)) draft.call()
  return refusal
}

/**
 * Admits a called claim, and the head of the queue: beside the called waiters, or before them if its ticket is older. An older
 * ticket wins at every node, and that ends a split vote.
 */
function admits(draft: NodeDraft, { claim: wanted, ticket }: ClaimQuestion): boolean {
  if (draft.closed) return false
  const own = draft.waiterOf(wanted.id)
  const fits = draft.used + capacityTaken(wanted.mode) <= capacityOf(wanted.mode)
  if (own?.called) return fits
  const ahead = draft.queue.filter(
    (waiter) =>
      waiter !== own && isBefore({ ticket: waiter.ticket, id: waiter.claim.id }, { ticket, id: wanted.id }),
  )
  if (ahead.some(({ called }) => !called)) return false
  if (ahead.length === 0) return fits
  return draft.used + draft.reserved + capacityTaken(wanted.mode) <= capacityOf(wanted.mode)
}

/** A claim that already has the vote keeps it, for its full ttl. */
function reclaim(
  draft: NodeDraft,
  { claim: wanted, ballot }: ClaimQuestion,
  hold: NodeHold,
  voter: Voter,
): Vote {
  if (!covers(hold.mode, wanted.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  prolong(draft, hold, { ...voter, ballot: Math.max(voter.ballot, ballot) }, voter, wanted)
  return granted(draft, hold.seq)
}

/** Keeps a position in the queue, or takes one by its ticket; never gives a vote. */
function join(draft: NodeDraft, question: JoinQuestion): Vote {
  const found = draft.find(question.claim.id)
  if (found !== undefined) return renewed(draft, found.hold.seq)
  const refusal = refusalOf(draft, question.claim)
  if (refusal !== null) return refusal
  if (draft.waiterOf(question.claim.id) === undefined) {
    joinQueue(draft, question)
    draft.call()
  }
  return keep(draft, question.claim)
}

function renew(draft: NodeDraft, { claim: wanted, seq }: RenewQuestion): Vote {
  const found = draft.find(wanted.id)
  if (found === undefined) return keep(draft, wanted)
  const { hold, voter } = found
  if (seq > 0) draft.remember(seq)
  const kept = seq > 0 ? seq : hold.seq
  prolong(draft, hold, voter, voter, wanted, kept)
  return renewed(draft, kept)
}

/** A heartbeat does not prolong a call: a called waiter must come. */
function keep(draft: NodeDraft, { id, ttlMs }: Claim): Vote {
  const waiter = draft.waiterOf(id)
  if (waiter === undefined) return { kind: 'lost' }
  if (!waiter.called)
    draft.enqueue({ ...waiter, expiresAtMs: Math.max(waiter.expiresAtMs, draft.nowMs + ttlMs) })
  return waiting(draft, id)
}

/** Never a number that the node gave to another claim: two majorities share a node, so two leases would share a token. */
function raise(draft: NodeDraft, id: string, wanted: number): Vote {
  const found = draft.find(id)
  if (found === undefined) return { kind: 'lost' }
  const { hold, voter } = found
  const seq = wanted === hold.seq ? wanted : nextSeq(draft.seq, wanted)
  draft.remember(seq)
  draft.change(hold, voter, voter, hold.mode, seq)
  return renewed(draft, seq)
}

/** Never shortens. A writer that asks as a reader becomes a reader. */
function prolong(
  draft: NodeDraft,
  hold: NodeHold,
  voter: Voter,
  old: Voter,
  { mode: wanted, ttlMs }: Claim,
  seq = hold.seq,
): void {
  const downgrade = hold.mode.kind === 'exclusive' && wanted.kind === 'shared' && hold.members.length === 1
  const expiresAtMs = Math.max(voter.expiresAtMs, draft.nowMs + ttlMs)
  const claim = downgrade ? { ...voter.claim, mode: wanted } : voter.claim
  draft.change(hold, old, { ...voter, expiresAtMs, claim }, downgrade ? wanted : hold.mode, seq)
  if (downgrade) draft.call()
}

/** A final release ends everything; a vote that is taken back returns its claim to the queue if it waits. */
function release(draft: NodeDraft, id: string, ballot: number): Vote {
  const isFinal = ballot === EVERY_BALLOT
  const found = draft.find(id)
  if (found !== undefined && found.voter.ballot <= ballot) {
    const { hold, voter } = found
    draft.change(hold, voter, null)
    const { claim: wanted, inbox, ticket } = voter
    if (!isFinal && wanted.queue)
      joinQueue(draft, { kind: 'join', claim: wanted, inbox: inbox ?? '', ticket })
  } else if (!isFinal || !draft.leave(id)) return { kind: 'absent' }
  draft.call()
  return { kind: 'released' }
}

function block(draft: NodeDraft, question: ClaimQuestion): Blocked {
  const { claim: wanted } = question
  if (wanted.queue) joinQueue(draft, question)
  const { nowMs } = draft
  const [holder] = draft.voters()
  return {
    kind: 'blocked',
    position: wanted.queue ? draft.positionOf(wanted.id) : 0,
    retryAfterMs: retryAfterMs(draft, wanted.id),
    storeTimeMs: nowMs,
    holder: holder === undefined ? null : { label: holder.label, heldMs: nowMs - holder.sinceMs },
  }
}

/** A waiter that was called and was blocked waits again. */
function joinQueue(draft: NodeDraft, { claim: wanted, inbox, ticket }: ClaimQuestion | JoinQuestion): void {
  if (draft.queue.length === 0) tellHolders(draft)
  const { nowMs } = draft
  const before = draft.waiterOf(wanted.id)
  const expiresAtMs = Math.max(before?.expiresAtMs ?? 0, nowMs + wanted.ttlMs)
  const joinedAtMs = before?.joinedAtMs ?? nowMs
  const waiter: NodeWaiter = { claim: wanted, inbox, ticket, joinedAtMs, expiresAtMs, called: false }
  draft.enqueue(waiter)
}

/** Holders hand over inside their processes, so they must know that others wait. */
function tellHolders(draft: NodeDraft): void {
  for (const { inbox, id } of draft.voters().slice(0, MOST_TOLD_OF_CONTENTION))
    draft.tell(inbox, 'contended', id)
}

/** When time alone may unblock the claim: the end of a hold, a lock delay, a position or a call. */
function retryAfterMs(draft: NodeDraft, id: string): number | null {
  const ends = [
    ...draft.voters().map(({ expiresAtMs }) => expiresAtMs),
    ...draft.queue.filter(({ claim: { id: other } }) => other !== id).map(({ expiresAtMs }) => expiresAtMs),
    ...(draft.closed ? [draft.closedUntilMs] : []),
  ]
  return ends.length === 0 ? null : Math.max(0, Math.min(...ends) - draft.nowMs)
}

function granted(draft: NodeDraft, seq: number): VoteGranted {
  return { kind: 'granted', seq, contended: draft.queue.length > 0 }
}

function renewed(draft: NodeDraft, seq: number): Vote {
  return { kind: 'renewed', seq, contended: draft.queue.length > 0 }
}

function waiting(draft: NodeDraft, id: string): Vote {
  return { kind: 'waiting', position: draft.positionOf(id), storeTimeMs: draft.nowMs }
}

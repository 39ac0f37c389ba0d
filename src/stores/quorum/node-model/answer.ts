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
 * What a node does: a question changes the state of its key, is answered, and others may be told. Pure. `calledBefore`: how many
 * waiters the questions before it in the same request have called.
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

/** The state when the time up to now has been counted. */
export function counted(key: string, state: NodeState, clock: Clock): NodeState {
  return new NodeDraft(key, state, clock, 0).finish()
}

/** Ends the holds of these claims by an operator's hand, or asks their holders to let go. */
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

/** One step drops only so many of those that have expired: the claim that is asked about must not be left over. */
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

/** A claim is refused for good, so it must not keep a position that others wait behind. */
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
 * A claim that was called may come, and so may the first of the queue: beside those called, or instead of them if its ticket is
 * older than theirs. That an older ticket wins at every node is what ends a split vote.
 */
function admits(draft: NodeDraft, { claim: wanted, ticket }: ClaimQuestion): boolean {
  if (draft.closed) return false
  const own = draft.waiterOf(wanted.id)
  const fits = draft.used + capacityTaken(wanted.mode) <= capacityOf(wanted.mode)
  if (own?.called) return fits
  const ahead = draft.line.filter(
    (waiter) =>
      waiter !== own && isBefore({ ticket: waiter.ticket, id: waiter.claim.id }, { ticket, id: wanted.id }),
  )
  if (ahead.some(({ called }) => !called)) return false
  if (ahead.length === 0) return fits
  return draft.used + draft.reserved + capacityTaken(wanted.mode) <= capacityOf(wanted.mode)
}

/** A claim that has the vote already is the same claim: it has it again, for its full ttl. */
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

/** Keeps a position, or takes one by its ticket: never a vote. */
function join(draft: NodeDraft, question: JoinQuestion): Vote {
  const found = draft.find(question.claim.id)
  if (found !== undefined) return renewed(draft, found.hold.seq)
  const refusal = refusalOf(draft, question.claim)
  if (refusal !== null) return refusal
  if (draft.waiterOf(question.claim.id) === undefined) {
    enqueue(draft, question)
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

/** A call is not prolonged: it is there to be followed. */
function keep(draft: NodeDraft, { id, ttlMs }: Claim): Vote {
  const waiter = draft.waiterOf(id)
  if (waiter === undefined) return { kind: 'lost' }
  if (!waiter.called)
    draft.queue({ ...waiter, expiresAtMs: Math.max(waiter.expiresAtMs, draft.nowMs + ttlMs) })
  return waiting(draft, id)
}

/** A number that the node never gave to another claim: two claims that reach a majority with it would share a node. */
function raise(draft: NodeDraft, id: string, wanted: number): Vote {
  const found = draft.find(id)
  if (found === undefined) return { kind: 'lost' }
  const { hold, voter } = found
  const seq = wanted === hold.seq ? wanted : nextSeq(draft.seq, wanted)
  draft.remember(seq)
  draft.change(hold, voter, voter, hold.mode, seq)
  return renewed(draft, seq)
}

/** Never shortened. A writer that asks as a reader becomes one. */
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

/** A final release ends everything; a vote that is taken back leaves its claim waiting, if it waits. */
function release(draft: NodeDraft, id: string, ballot: number): Vote {
  const isFinal = ballot === EVERY_BALLOT
  const found = draft.find(id)
  if (found !== undefined && found.voter.ballot <= ballot) {
    const { hold, voter } = found
    draft.change(hold, voter, null)
    const { claim: wanted, inbox, ticket } = voter
    if (!isFinal && wanted.queue) enqueue(draft, { kind: 'join', claim: wanted, inbox: inbox ?? '', ticket })
  } else if (!isFinal || !draft.leave(id)) return { kind: 'absent' }
  draft.call()
  return { kind: 'released' }
}

function block(draft: NodeDraft, question: ClaimQuestion): Blocked {
  const { claim: wanted } = question
  if (wanted.queue) enqueue(draft, question)
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

/** Whoever was called and could not come waits again. */
function enqueue(draft: NodeDraft, { claim: wanted, inbox, ticket }: ClaimQuestion | JoinQuestion): void {
  if (draft.line.length === 0) tellHolders(draft)
  const { nowMs } = draft
  const before = draft.waiterOf(wanted.id)
  const expiresAtMs = Math.max(before?.expiresAtMs ?? 0, nowMs + wanted.ttlMs)
  const joinedAtMs = before?.joinedAtMs ?? nowMs
  const waiter: NodeWaiter = { claim: wanted, inbox, ticket, joinedAtMs, expiresAtMs, called: false }
  draft.queue(waiter)
}

/** Holders hand their claims over inside their processes, so they need to know that others wait. */
function tellHolders(draft: NodeDraft): void {
  for (const { inbox, id } of draft.voters().slice(0, MOST_TOLD_OF_CONTENTION))
    draft.tell(inbox, 'contended', id)
}

/** When time alone changes what stands in the way: a hold, a lock delay, a position, or a call that is not followed. */
function retryAfterMs(draft: NodeDraft, id: string): number | null {
  const ends = [
    ...draft.voters().map(({ expiresAtMs }) => expiresAtMs),
    ...draft.line.filter(({ claim: { id: other } }) => other !== id).map(({ expiresAtMs }) => expiresAtMs),
    ...(draft.closed ? [draft.closedUntilMs] : []),
  ]
  return ends.length === 0 ? null : Math.max(0, Math.min(...ends) - draft.nowMs)
}

function granted(draft: NodeDraft, seq: number): VoteGranted {
  return { kind: 'granted', seq, contended: draft.line.length > 0 }
}

function renewed(draft: NodeDraft, seq: number): Vote {
  return { kind: 'renewed', seq, contended: draft.line.length > 0 }
}

function waiting(draft: NodeDraft, id: string): Vote {
  return { kind: 'waiting', position: draft.positionOf(id), storeTimeMs: draft.nowMs }
}

import {
  type Blocked,
  type Clock,
  covers,
  fits,
  mismatch,
  nextChangeMs,
  nextSeq,
  ownHold,
  type Refused,
  refused,
} from '../../../model/index.ts'
import { EVERY_BALLOT, FIRST_PROPOSAL, type Question, type Vote, type VoteGranted } from '../protocol.ts'
import { NodeDraft } from './draft.ts'
import { AHEAD_US, type NodeLetter, type NodeState, type Seat, type Voter, voterOf } from './state.ts'

type ClaimQuestion = Question & { kind: 'claim' }
type RenewQuestion = Question & { kind: 'renew' }

/** What a node does: a question changes the state of its key, is answered, and others may be told. Pure. */
export function answer(
  state: NodeState,
  question: Question,
  clock: Clock,
): { state: NodeState; vote: Vote; letters: readonly NodeLetter[] } {
  const draft = new NodeDraft(question.claim.key, state, clock)
  const vote = apply(draft, question, clock)
  return { state: draft.finish(), vote, letters: draft.letters }
}

/** The state when the time up to now has been counted. */
export function counted(key: string, state: NodeState, clock: Clock): NodeState {
  return new NodeDraft(key, state, clock).finish()
}

/** Ends the holds of these claims by an operator's hand, or asks their holders to let go. */
export function evict(
  key: string,
  state: NodeState,
  ids: readonly string[],
  ask: boolean,
  clock: Clock,
): { state: NodeState; letters: readonly NodeLetter[] } {
  const draft = new NodeDraft(key, state, clock)
  for (const id of ids) {
    const found = draft.find(id)
    if (found === undefined) continue
    draft.tell(found.voter.inbox, ask ? 'revoked' : 'evicted', id)
    if (!ask) draft.change(found.hold, found.voter, null)
  }
  if (!ask) draft.call()
  return { state: draft.finish(), letters: draft.letters }
}

function apply(draft: NodeDraft, question: Question, clock: Clock): Vote {
  switch (question.kind) {
    case 'claim':
      return claim(draft, question, clock)
    case 'renew':
      return renew(draft, question)
    case 'raise':
      return raise(draft, question.claim.id, question.seq)
    case 'release':
      return release(draft, question.claim.id, question.ballot)
  }
}

function claim(draft: NodeDraft, question: ClaimQuestion, clock: Clock): Vote {
  const { claim: wanted, ballot, ticket } = question
  if (ballot > clock.stampUs + AHEAD_US) return { kind: 'ahead' }
  const found = draft.find(wanted.id)
  if (found !== undefined) return reclaim(draft, question, found.hold, found.voter)
  if (wanted.replaces !== null) return refused('absent', 'the lease is no longer held')
  const refusal = mismatch(draft, wanted) ?? upgrade(draft, question)
  if (refusal !== null) {
    // Whoever is refused goes away, so it must not keep a place that others wait behind.
    if (draft.leave(wanted.id)) draft.call()
    return refusal
  }
  const own = ownHold(draft.holds, wanted) as Seat | undefined
  const place = draft.line.find((watcher) => watcher.claim.id === wanted.id)
  const called = place !== undefined && place.calledUntilMs > 0
  const first = called || draft.line.every((each) => each === place || each.ticket > ticket)
  if (own === undefined && (!first || draft.closed || !fits(wanted.mode, draft.holds)))
    return block(draft, question)
  draft.leave(wanted.id)
  const voter = voterOf(wanted, question.inbox, ballot, draft.nowMs)
  if (own === undefined) {
    const seq = nextSeq(draft.seq, ballot < FIRST_PROPOSAL ? clock.stampUs : ballot)
    draft.remember(seq)
    draft.add({ owner: wanted.owner, mode: wanted.mode, seq, members: [voter] })
  } else draft.join(own, voter)
  draft.call()
  return granted(draft, own?.seq ?? draft.seq)
}

function upgrade(draft: NodeDraft, { claim: wanted }: ClaimQuestion): Refused | null {
  const own = ownHold(draft.holds, wanted)
  if (own === undefined || covers(own.mode, wanted.mode)) return null
  return refused(
    'upgrade',
    'the owner holds the key already, with less than it now asks for: release that first',
  )
}

/** A claim that has the vote already is the same claim: it has it again, for its full ttl. */
function reclaim(draft: NodeDraft, { claim: wanted, ballot }: ClaimQuestion, hold: Seat, voter: Voter): Vote {
  if (!covers(hold.mode, wanted.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  prolong(draft, hold, { ...voter, ballot: Math.max(voter.ballot, ballot) }, voter, wanted.ttlMs, wanted)
  return granted(draft, hold.seq)
}

function renew(draft: NodeDraft, { claim: wanted, seq }: RenewQuestion): Vote {
  const found = draft.find(wanted.id)
  if (found === undefined) return { kind: 'lost' }
  const { hold, voter } = found
  if (seq > 0) draft.remember(seq)
  prolong(draft, hold, voter, voter, wanted.ttlMs, wanted, seq > 0 ? seq : hold.seq)
  return { kind: 'renewed', seq: seq > 0 ? seq : hold.seq, contended: draft.line.length > 0 }
}

/** A number that the node never gave to another claim: two claims that reach a majority with it would share a node. */
function raise(draft: NodeDraft, id: string, wanted: number): Vote {
  const found = draft.find(id)
  if (found === undefined) return { kind: 'lost' }
  const { hold, voter } = found
  const seq = wanted === hold.seq ? wanted : nextSeq(draft.seq, wanted)
  draft.remember(seq)
  draft.change(hold, voter, voter, hold.mode, seq)
  return { kind: 'renewed', seq, contended: draft.line.length > 0 }
}

/** Never shortened. A writer that asks as a reader becomes one. */
function prolong(
  draft: NodeDraft,
  hold: Seat,
  voter: Voter,
  old: Voter,
  ttlMs: number,
  { mode: wanted }: ClaimQuestion['claim'],
  seq = hold.seq,
): void {
  const downgrade = hold.mode.kind === 'exclusive' && wanted.kind === 'shared' && hold.members.length === 1
  const expiresAtMs = Math.max(voter.expiresAtMs, draft.nowMs + ttlMs)
  draft.change(hold, old, { ...voter, expiresAtMs }, downgrade ? wanted : hold.mode, seq)
  if (downgrade) draft.call()
}

function release(draft: NodeDraft, id: string, ballot: number): Vote {
  const found = draft.find(id)
  if (found !== undefined && found.voter.ballot <= ballot) draft.change(found.hold, found.voter, null)
  // A roll-back gives up a vote, not the place in the line.
  else if (ballot < EVERY_BALLOT || !draft.leave(id)) return { kind: 'absent' }
  draft.call()
  return { kind: 'released' }
}

function block(draft: NodeDraft, { claim: wanted, inbox, ticket }: ClaimQuestion): Blocked {
  const { nowMs } = draft
  let place = -1
  if (wanted.queue) {
    if (draft.line.length === 0) tellHolders(draft)
    const joined = draft.line.find((watcher) => watcher.claim.id === wanted.id)
    const expiresAtMs = Math.max(joined?.expiresAtMs ?? 0, nowMs + wanted.ttlMs)
    const joinedAtMs = joined?.joinedAtMs ?? nowMs
    place = draft.queue({ claim: wanted, inbox, ticket, joinedAtMs, expiresAtMs, calledUntilMs: 0 })
  }
  const holder = draft.holds[0]?.members[0]
  return {
    kind: 'blocked',
    position: place + 1,
    retryAfterMs: retryAfterMs(draft, place < 0 ? draft.line.length : place),
    storeTimeMs: nowMs,
    holder: holder === undefined ? null : { label: holder.label, heldMs: nowMs - holder.sinceMs },
  }
}

/** Only an exclusive holder hands its claim over locally, so only that one needs to know that others wait. */
function tellHolders(draft: NodeDraft): void {
  for (const { mode, members } of draft.holds) {
    if (mode.kind !== 'exclusive') continue
    for (const { inbox, id } of members) draft.tell(inbox, 'contended', id)
  }
}

/** When time alone changes what stands in the way: a hold, a lock delay, a place, or a call that is not followed. */
function retryAfterMs(draft: NodeDraft, place: number): number | null {
  const before = draft.line.slice(0, place)
  const atMs = nextChangeMs({ ...draft.finish(), line: before }, draft.nowMs)
  const calls = before.map(({ calledUntilMs }) => calledUntilMs).filter((untilMs) => untilMs > 0)
  const soonestMs = Math.min(atMs ?? Number.POSITIVE_INFINITY, ...calls)
  return soonestMs === Number.POSITIVE_INFINITY ? null : soonestMs - draft.nowMs
}

function granted(draft: NodeDraft, seq: number): VoteGranted {
  return { kind: 'granted', seq, contended: draft.line.length > 0 }
}

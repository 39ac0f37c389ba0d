import { covers, mismatch, ownHold, refused } from './admission.ts'
import { KeyDraft, spareOf } from './draft.ts'
import { fastStep } from './fast-step.ts'
import { seqOf, tokenOf } from './token.ts'
import type {
  Answer,
  Blocked,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  EvictAnswer,
  Granted,
  Hold,
  KeyState,
  Refused,
  ReleaseAnswer,
  RenewAnswer,
  Rules,
  StepOutcome,
} from './types.ts'

export const EMPTY: KeyState = { holds: [], queue: [], seq: 0, seqKeptUntilMs: 0, closedUntilMs: 0 }

/** The meaning of a lock: the effect of an event on a key, the answer and the notifications. Pure. */
export function step<E extends Event>(
  state: KeyState,
  event: E,
  clock: Clock,
  rules: Rules,
): StepOutcome<Answer<E>> {
  const fast = fastStep(state, event, clock, rules) as StepOutcome<Answer<E>> | null
  return fast ?? fullStep(state, event, clock, rules)
}

/** Reference implementation; `fastStep` must agree with it. */
export function fullStep<E extends Event>(
  state: KeyState,
  event: E,
  clock: Clock,
  rules: Rules,
): StepOutcome<Answer<E>> {
  const draft = new KeyDraft(state, clock, rules)
  draft.sweep()
  const answer = apply(draft, event, clock) as Answer<E>
  return { state: draft.finish(), answer, notifications: draft.notifications }
}

/** True if the key can be forgotten. */
export function isForgettable(state: KeyState, nowMs: number): boolean {
  return forgetAtMs(state) <= nowMs
}

/** The time from which the state is forgettable if no event comes before. */
export function forgetAtMs(state: KeyState): number {
  let atMs = Math.max(state.seqKeptUntilMs, state.closedUntilMs)
  for (const hold of state.holds) {
    for (const member of hold.members) atMs = Math.max(atMs, member.expiresAtMs + member.lockDelayMs)
  }
  for (const waiter of state.queue) atMs = Math.max(atMs, waiter.expiresAtMs)
  return atMs
}

/** When the passing of time alone changes the state next; null when it does not. */
export function nextChangeMs(state: KeyState, nowMs: number): number | null {
  let atMs = state.closedUntilMs > nowMs ? state.closedUntilMs : Number.POSITIVE_INFINITY
  for (const hold of state.holds) for (const member of hold.members) atMs = Math.min(atMs, member.expiresAtMs)
  for (const waiter of state.queue) atMs = Math.min(atMs, waiter.expiresAtMs)
  return atMs === Number.POSITIVE_INFINITY ? null : atMs
}

function apply(draft: KeyDraft, event: Event, clock: Clock): Answer<Event> {
  switch (event.kind) {
    case 'claim':
      return claim(draft, event.claim, event.inbox, clock)
    case 'renew':
      return renew(draft, event.id, event.ttlMs, clock)
    case 'release':
      return release(draft, event.id)
    case 'evict':
      return evict(draft, event.token)
    case 'revoke':
      return revoke(draft, event.token)
    case 'tick':
      return null
  }
}

function claim(draft: KeyDraft, wanted: Claim, inbox: string | null, clock: Clock): ClaimAnswer {
  const found = draft.find(wanted.id)
  if (found !== undefined) return reclaim(draft, wanted, found, clock)
  if (wanted.replaces !== null) return adopt(draft, wanted, wanted.replaces, inbox)
  const refusal = mismatch(draft, wanted) ?? upgrade(draft, wanted)
  if (refusal !== null) {
    // A refused claim goes away, so it must not keep a position that others wait behind.
    if (draft.leave(wanted.id)) draft.promote()
    return refusal
  }
  const waiting = draft.queue.findIndex((waiter) => waiter.claim.id === wanted.id)
  if (draft.joins(wanted) || (waiting < 0 && draft.queue.length === 0 && draft.admits(wanted))) {
    draft.leave(wanted.id)
    return granted(draft, draft.grant(wanted, inbox, wanted.ttlMs))
  }
  return block(draft, wanted, inbox, waiting, clock)
}

function upgrade(draft: KeyDraft, wanted: Claim): Refused | null {
  const own = ownHold(draft.holds, wanted)
  if (own === undefined || covers(own.mode, wanted.mode)) return null
  return refused(
    'upgrade',
    'the owner holds the key already, with less than it now asks for: release that first',
  )
}

/** A claim that holds the key already is the same claim: it is granted again, for its full ttl. */
function reclaim(
  draft: KeyDraft,
  wanted: Claim,
  found: NonNullable<ReturnType<KeyDraft['find']>>,
  clock: Clock,
): ClaimAnswer {
  const { hold, member } = found
  if (!covers(hold.mode, wanted.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  const expiresAtMs = Math.max(member.expiresAtMs, clock.nowMs + wanted.ttlMs)
  const downgrade =
    hold.mode.kind === 'exclusive' && wanted.mode.kind === 'shared' && hold.members.length === 1
  const kept: Hold = { ...hold, mode: downgrade ? wanted.mode : hold.mode }
  draft.replaceHold(hold, kept)
  draft.replaceMember(kept, member, { ...member, expiresAtMs })
  if (downgrade) draft.promote()
  return granted(draft, hold)
}

function adopt(draft: KeyDraft, wanted: Claim, givenId: string, inbox: string | null): ClaimAnswer {
  const given = draft.find(givenId)
  if (given === undefined) return refused('absent', 'the lease to adopt is no longer held')
  const { hold, member } = given
  if (!covers(hold.mode, wanted.mode)) {
    return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
  }
  // Claims that share a hold share its token, so only a hold of one claim can move the fence.
  const kept: Hold = hold.members.length === 1 ? { ...hold, seq: draft.takeSeq() } : hold
  draft.replaceHold(hold, kept)
  draft.replaceMember(kept, member, draft.memberOf(wanted, inbox, wanted.ttlMs))
  draft.post(member.inbox, { kind: 'lost', id: givenId, cause: 'adopted' })
  return granted(draft, kept)
}

function granted(draft: KeyDraft, hold: Hold): Granted {
  return { kind: 'granted', token: tokenOf(hold.seq), spare: spareOf(hold), contended: draft.contended }
}

function block(draft: KeyDraft, wanted: Claim, inbox: string | null, waiting: number, clock: Clock): Blocked {
  const { nowMs } = clock
  let index = waiting
  if (waiting >= 0) {
    draft.queue = draft.queue.map((waiter, at) =>
      at === waiting
        ? { ...waiter, expiresAtMs: Math.max(waiter.expiresAtMs, nowMs + wanted.ttlMs) }
        : waiter,
    )
  } else if (wanted.queue && wanted.group === null) {
    if (!draft.contended) tellHolders(draft)
    index = draft.queue.length
    draft.queue = [
      ...draft.queue,
      { claim: wanted, inbox, joinedAtMs: nowMs, expiresAtMs: nowMs + wanted.ttlMs },
    ]
  }
  const holder = draft.holds[0]?.members[0]
  return {
    kind: 'blocked',
    position: index + 1,
    retryAfterMs: retryAfterMs(draft, index, nowMs),
    storeTimeMs: nowMs,
    holder: holder === undefined ? null : { label: holder.label, heldMs: nowMs - holder.sinceMs },
  }
}

/** Of many holders only the first are notified: the others learn it from their next renewal. */
export const MOST_TOLD_OF_CONTENTION = 32

/** Holders need to know that others wait, because they hand over inside their processes. */
function tellHolders(draft: KeyDraft): void {
  const members = draft.holds.flatMap((hold) => hold.members)
  for (const member of members.slice(0, MOST_TOLD_OF_CONTENTION))
    draft.post(member.inbox, { kind: 'contended', id: member.id })
}

/** The claims before this one block it as the holders do, and any of them may expire. */
function retryAfterMs(draft: KeyDraft, index: number, nowMs: number): number | null {
  const before = index < 0 ? draft.queue : draft.queue.slice(0, index)
  const atMs = nextChangeMs({ ...draft.finish(), queue: before }, nowMs)
  return atMs === null ? null : atMs - nowMs
}

function renew(draft: KeyDraft, id: string, ttlMs: number, clock: Clock): RenewAnswer {
  const expiresAtMs = clock.nowMs + ttlMs
  const found = draft.find(id)
  if (found !== undefined) {
    // Never shortened: a late duplicate of an older renewal must not cut a newer, longer one.
    if (expiresAtMs > found.member.expiresAtMs)
      draft.replaceMember(found.hold, found.member, { ...found.member, expiresAtMs })
    return { kind: 'renewed', contended: draft.contended }
  }
  const waiting = draft.queue.find((waiter) => waiter.claim.id === id)
  if (waiting === undefined) return { kind: 'lost' }
  const index = draft.queue.indexOf(waiting)
  draft.queue = draft.queue.with(index, {
    ...waiting,
    expiresAtMs: Math.max(waiting.expiresAtMs, expiresAtMs),
  })
  return { kind: 'waiting', position: index + 1, storeTimeMs: clock.nowMs }
}

function release(draft: KeyDraft, id: string): ReleaseAnswer {
  const found = draft.find(id)
  if (found !== undefined) {
    draft.replaceMember(found.hold, found.member, null)
  } else if (!draft.leave(id)) {
    return { kind: 'absent' }
  }
  draft.promote()
  return { kind: 'released' }
}

function evict(draft: KeyDraft, token: bigint | null): EvictAnswer {
  const evicted = holdsOf(draft, token)
  if (evicted.length === 0) return { kind: 'absent', labels: [] }
  for (const hold of evicted) {
    draft.replaceHold(hold, null)
    for (const member of hold.members)
      draft.post(member.inbox, { kind: 'lost', id: member.id, cause: 'evicted' })
  }
  draft.takeSeq()
  draft.promote()
  return { kind: 'evicted', labels: labelsOf(evicted) }
}

function revoke(draft: KeyDraft, token: bigint | null): EvictAnswer {
  const asked = holdsOf(draft, token)
  for (const hold of asked) {
    for (const member of hold.members) draft.post(member.inbox, { kind: 'revoked', id: member.id })
  }
  return { kind: asked.length === 0 ? 'absent' : 'evicted', labels: labelsOf(asked) }
}

function holdsOf(draft: KeyDraft, token: bigint | null): readonly Hold[] {
  return token === null ? draft.holds : draft.holds.filter((hold) => hold.seq === seqOf(token))
}

function labelsOf(holds: readonly Hold[]): string[] {
  return holds.flatMap((hold) => hold.members.map((member) => member.label))
}

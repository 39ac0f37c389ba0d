import { fits } from './admission.ts'
import { spareOf } from './draft.ts'
import { nextSeq, tokenOf } from './token.ts'
import type {
  Answer,
  Claim,
  Clock,
  Event,
  Hold,
  KeyState,
  Member,
  Notification,
  ReleaseAnswer,
  RenewAnswer,
  Rules,
  StepOutcome,
} from './types.ts'

type Quick = StepOutcome<Answer<Event>> | null

const NO_HOLDS: readonly Hold[] = []
const NO_NOTIFICATIONS: readonly Notification[] = []
const RENEWED: RenewAnswer = { kind: 'renewed', contended: false }
const RELEASED: ReleaseAnswer = { kind: 'released' }

/**
 * The most frequent events: a claim on a free key, and the renewal or release of its only claim. Gives the result of
 * `fullStep` without a draft; null for any other event. Properties compare the two.
 */
export function fastStep(state: KeyState, event: Event, clock: Clock, rules: Rules): Quick {
  if (state.queue.length > 0) return null
  switch (event.kind) {
    case 'claim':
      return claimFree(state, event.claim, event.inbox, clock, rules)
    case 'renew':
      return renewSole(state, event.id, event.ttlMs, clock)
    case 'release':
      return releaseSole(state, event.id, clock)
    default:
      return null
  }
}

function claimFree(
  { holds, queue, seq: lastSeq, closedUntilMs }: KeyState,
  claim: Claim,
  inbox: string | null,
  { nowMs, stampUs }: Clock,
  rules: Rules,
): Quick {
  if (holds.length > 0 || closedUntilMs > nowMs || claim.replaces !== null || !fits(claim.mode, holds))
    return null
  const { id, ttlMs, label, actor, meta, lockDelayMs, owner, mode } = claim
  const seq = nextSeq(lastSeq, stampUs)
  const member = { id, expiresAtMs: nowMs + ttlMs, sinceMs: nowMs, label, actor, meta, lockDelayMs, inbox }
  const hold: Hold = { owner, mode, seq, members: [member] }
  return {
    state: { holds: [hold], queue, seq, seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs },
    answer: { kind: 'granted', token: tokenOf(seq), spare: spareOf(hold), contended: false },
    notifications: NO_NOTIFICATIONS,
  }
}

function renewSole(state: KeyState, id: string, ttlMs: number, { nowMs }: Clock): Quick {
  const member = soleMember(state, id, nowMs)
  if (member === undefined) return null
  const expiresAtMs = nowMs + ttlMs
  if (expiresAtMs <= member.expiresAtMs) return { state, answer: RENEWED, notifications: NO_NOTIFICATIONS }
  // Field by field: spreading an object costs more than all the rest.
  const { sinceMs, label, actor, meta, lockDelayMs, inbox } = member
  const { owner, mode, seq } = state.holds[0] as Hold
  const renewed = { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
  return {
    state: stateWith(state, [{ owner, mode, seq, members: [renewed] }]),
    answer: RENEWED,
    notifications: NO_NOTIFICATIONS,
  }
}

function releaseSole(state: KeyState, id: string, { nowMs }: Clock): Quick {
  if (soleMember(state, id, nowMs) === undefined) return null
  return { state: stateWith(state, NO_HOLDS), answer: RELEASED, notifications: NO_NOTIFICATIONS }
}

function stateWith(
  { queue, seq, seqKeptUntilMs, closedUntilMs }: KeyState,
  holds: readonly Hold[],
): KeyState {
  return { holds, queue, seq, seqKeptUntilMs, closedUntilMs }
}

/** The claim with that id, if it is alive and the only holder. */
function soleMember({ holds }: KeyState, id: string, nowMs: number): Member | undefined {
  const members = holds.length === 1 ? (holds[0] as Hold).members : undefined
  const member = members?.length === 1 ? members[0] : undefined
  return member !== undefined && member.id === id && member.expiresAtMs > nowMs ? member : undefined
}

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
  Letter,
  Member,
  Outcome,
  ReleaseAnswer,
  RenewAnswer,
  Rules,
} from './types.ts'

type Quick = Outcome<Answer<Event>> | null

const NO_HOLDS: readonly Hold[] = []
const NO_LETTERS: readonly Letter[] = []
const RENEWED: RenewAnswer = { kind: 'renewed', contended: false }
const RELEASED: ReleaseAnswer = { kind: 'released' }

/**
 * What nearly every event is: a claim on a key that is free, the renewal or the release of a claim that is alone there.
 * Says what the long way says, without a draft; null when the event is another. Properties compare the two ways.
 */
export function quickStep(state: KeyState, event: Event, clock: Clock, rules: Rules): Quick {
  if (state.line.length > 0) return null
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
  { holds, line, seq: lastSeq, closedUntilMs }: KeyState,
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
    state: { holds: [hold], line, seq, seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs },
    answer: { kind: 'granted', token: tokenOf(seq), spare: spareOf(hold), contended: false },
    letters: NO_LETTERS,
  }
}

function renewSole(state: KeyState, id: string, ttlMs: number, { nowMs }: Clock): Quick {
  const member = soleMember(state, id, nowMs)
  if (member === undefined) return null
  const expiresAtMs = nowMs + ttlMs
  if (expiresAtMs <= member.expiresAtMs) return { state, answer: RENEWED, letters: NO_LETTERS }
  // Written out, because spreading an object costs more than all the rest.
  const { sinceMs, label, actor, meta, lockDelayMs, inbox } = member
  const { owner, mode, seq } = state.holds[0] as Hold
  const renewed = { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
  return {
    state: stateWith(state, [{ owner, mode, seq, members: [renewed] }]),
    answer: RENEWED,
    letters: NO_LETTERS,
  }
}

function releaseSole(state: KeyState, id: string, { nowMs }: Clock): Quick {
  if (soleMember(state, id, nowMs) === undefined) return null
  return { state: stateWith(state, NO_HOLDS), answer: RELEASED, letters: NO_LETTERS }
}

function stateWith({ line, seq, seqKeptUntilMs, closedUntilMs }: KeyState, holds: readonly Hold[]): KeyState {
  return { holds, line, seq, seqKeptUntilMs, closedUntilMs }
}

/** The claim with that id, if it lives and nobody else holds the key. */
function soleMember({ holds }: KeyState, id: string, nowMs: number): Member | undefined {
  const members = holds.length === 1 ? (holds[0] as Hold).members : undefined
  const member = members?.length === 1 ? members[0] : undefined
  return member !== undefined && member.id === id && member.expiresAtMs > nowMs ? member : undefined
}

import { UnsupportedError } from '../../../errors.ts'
import type { Refused } from '../../../model/index.ts'
import { blockedAnswer } from '../../redis/codec.ts'
import type { Ballots, NodeNotification, Question, Vote } from '../protocol.ts'
import { keyOf } from './names.ts'

const RELEASED: Vote = { kind: 'released' }
const ABSENT: Vote = { kind: 'absent' }

/** The arguments of a question for ask.lua. */
export function argumentsOf(question: Question): readonly string[] {
  const { kind, claim } = question
  switch (kind) {
    case 'claim':
    case 'join':
      return [kind, ...claimArguments(question)]
    case 'renew':
      return [kind, claim.id, String(claim.ttlMs), String(question.seq), claim.mode.kind]
    case 'raise':
      return [kind, claim.id, String(question.seq)]
    case 'release':
      return [kind, claim.id, String(question.ballot)]
  }
}

function claimArguments(question: Question & { kind: 'claim' | 'join' }): readonly string[] {
  const { claim, inbox, ticket } = question
  const { id, mode, ttlMs, lockDelayMs, label, queue } = claim
  const ballot = String(question.kind === 'claim' ? question.ballot : 0)
  const { limit, weight } = mode.kind === 'permits' ? mode : { limit: 0, weight: 1 }
  const delay = lockDelayMs === 0 ? undefined : lockDelayMs
  // Named so that an operator can read them; undefined fields are left out.
  const kept = JSON.stringify({
    label,
    actor: claim.actor ?? undefined,
    meta: claim.meta ?? undefined,
    owner: claim.owner ?? undefined,
    mode: mode.kind,
    weight,
    limit,
    ttl: ttlMs,
    delay,
    queue,
    inbox,
  })
  const numbers = [ballot, String(ticket), String(ttlMs), mode.kind, String(weight), String(limit)]
  const owner = claim.owner ?? ''
  return [id, ...numbers, owner, String(lockDelayMs), flag(queue), flag(claim.replaces !== null), kept]
}

function flag(value: boolean): string {
  return value ? '1' : '0'
}

/** Parses the answer of ask.lua. */
export function ballotsOf(questions: readonly Question[], raw: unknown): Ballots {
  const [stampUs, ...votes] = raw as readonly unknown[]
  return {
    stampUs: Number(stampUs),
    votes: questions.map((question, index) => voteOf(question, votes[index])),
  }
}

/** Parses the answer to TIME. */
export function timeUs([seconds, microseconds]: readonly unknown[]): number {
  return Number(seconds) * 1_000_000 + Number(microseconds)
}

function voteOf(question: Question, raw: unknown): Vote | UnsupportedError {
  if (Array.isArray(raw)) return wordyVote(question, raw)
  const number = Number(raw)
  if (question.kind === 'release') return number === 1 ? RELEASED : ABSENT
  const seq = Math.abs(number)
  if (question.kind === 'claim') return { kind: 'granted', seq, contended: number < 0 }
  return number === 0 ? { kind: 'lost' } : { kind: 'renewed', seq, contended: number < 0 }
}

function wordyVote({ kind }: Question, raw: readonly unknown[]): Vote | UnsupportedError {
  switch (raw[0]) {
    case 'blocked':
      return blockedAnswer(raw)
    case 'waiting':
      return { kind: 'waiting', position: Number(raw[1]), storeTimeMs: Number(raw[2]) }
    case 'refused':
      return { kind: 'refused', reason: raw[1] as Refused['reason'], message: String(raw[2]) }
    case 'ahead':
      return { kind: 'ahead' }
    default:
      return kind === 'claim'
        ? { kind: 'refused', reason: 'format', message: UNKNOWN_FORMAT }
        : unknownNodeFormat()
  }
}

/** Parses a message of a script. Null for anything else: an unknown message is as good as lost. */
export function parseNodeNotification(message: string): NodeNotification | null {
  const [kind, id = '', name = ''] = message.split('\0')
  if (kind !== 'free' && kind !== 'contended' && kind !== 'evicted' && kind !== 'revoked') return null
  return { kind, id, key: keyOf(name) }
}

const UNKNOWN_FORMAT =
  'the key is kept in a format that this version of holdfast does not know: upgrade it in this process, or in the one that took it'

export function unknownNodeFormat(): UnsupportedError {
  return new UnsupportedError(UNKNOWN_FORMAT)
}

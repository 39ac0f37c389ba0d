import { UnsupportedError } from '../../../errors.ts'
import type { Claim, Refused } from '../../../model/index.ts'
import { KEEP_SEQ_MS } from '../meaning/state.ts'
import {
  type Ballots,
  type Call,
  EVERY_BALLOT,
  FIRST_PROPOSAL,
  type Question,
  type Vote,
} from '../protocol.ts'
import { keyOf } from './names.ts'

const KINDS = { exclusive: 'e', shared: 's', permits: 'p' } as const
const LONGEST_SHORT_DELAY_MS = KEEP_SEQ_MS
/** The life of a key is told in 8 digits. */
const LONGEST_SHORT_TTL_MS = 99_999_999 - KEEP_SEQ_MS

const RELEASED: Vote = { kind: 'released' }
const ABSENT: Vote = { kind: 'absent' }

/**
 * A question as ask.lua reads it. Fields are ended by U+0000, which no text of a claim can contain. The same question goes
 * to every node, so its text is made once.
 */
export function questionText(question: Question): string {
  question.text ??= textOf(question)
  return question.text
}

function textOf(question: Question): string {
  switch (question.kind) {
    case 'claim':
      return claimText(question)
    case 'renew': {
      const { claim, seq } = question
      return `n${digits(claim.ttlMs, 10)}${digits(seq, 16)}${KINDS[claim.mode.kind]}${claim.id}`
    }
    case 'raise':
      return `p${digits(question.seq, 16)}${question.claim.id}`
    case 'release': {
      const { claim, ballot } = question
      return ballot === EVERY_BALLOT ? `q${claim.id}` : `r${digits(ballot, 16)}${claim.id}`
    }
  }
}

function claimText({ claim, inbox, ballot, ticket }: Question & { kind: 'claim' }): string {
  const { id, label, actor, meta, lockDelayMs, ttlMs } = claim
  const first = digits(ballot, 16)
  const numbers = first + (ticket === ballot ? first : digits(ticket, 16)) + ttlText(ttlMs)
  const tail = `${id}\0${inbox}\0${label}\0${actor ?? ''}\0${meta ?? ''}\0${lockDelayMs}\0`
  if (ballot >= FIRST_PROPOSAL && isPlain(claim))
    return (claim.queue ? 'x' : 'y') + numbers + tail + (ttlMs + KEEP_SEQ_MS)
  const { queue, mode, owner, replaces } = claim
  const { limit, weight } = mode.kind === 'permits' ? mode : { limit: 0, weight: 1 }
  const wanted = `${queue ? 1 : 0}\0${KINDS[mode.kind]}\0${limit}\0${weight}\0`
  return `f${numbers}${tail}${wanted}${owner ?? ''}\0${replaces ?? ''}\0`
}

/** What the short way of the script understands. */
function isPlain({ mode, owner, replaces, lockDelayMs, ttlMs }: Claim): boolean {
  const isShort = ttlMs <= LONGEST_SHORT_TTL_MS && lockDelayMs <= LONGEST_SHORT_DELAY_MS
  return isShort && mode.kind === 'exclusive' && owner === null && replaces === null
}

/** What ask.lua answers. */
export function ballotsOf(questions: readonly Question[], raw: unknown): Ballots {
  if (!Array.isArray(raw)) return { stampUs: stampOf(raw), votes: [voteOf(questions[0] as Question, 1)] }
  const votes = questions.map((question, index) => voteOf(question, raw[index + 1]))
  return { stampUs: stampOf(raw[0]), votes }
}

/** Null when the clock was not read. */
function stampOf(raw: unknown): number | null {
  const stampUs = Number(raw)
  return stampUs > 1 ? stampUs : null
}

/** The same from the answer to TIME. */
export function timeUs([seconds, microseconds]: readonly unknown[]): number {
  return Number(seconds) * 1_000_000 + Number(microseconds)
}

function voteOf(question: Question, raw: unknown): Vote {
  if (Array.isArray(raw)) return wordyVote(raw)
  const number = Number(raw)
  if (question.kind === 'release') return number === 1 ? RELEASED : ABSENT
  if (question.kind === 'claim') {
    const seq = number === 1 ? question.ballot : Math.abs(number)
    return { kind: 'granted', seq, contended: number < 0 }
  }
  return number === 0 ? { kind: 'lost' } : { kind: 'renewed', seq: Math.abs(number), contended: number < 0 }
}

function wordyVote(raw: readonly unknown[]): Vote {
  switch (raw[0]) {
    case 'blocked': {
      const [, position, retryAfterMs, storeTimeMs, label, heldMs] = raw
      return {
        kind: 'blocked',
        position: Number(position),
        retryAfterMs: Number(retryAfterMs) < 0 ? null : Number(retryAfterMs),
        storeTimeMs: Number(storeTimeMs),
        holder: typeof label === 'string' ? { label, heldMs: Number(heldMs) } : null,
      }
    }
    case 'refused':
      return { kind: 'refused', reason: raw[1] as Refused['reason'], message: String(raw[2]) }
    case 'ahead':
      return { kind: 'ahead' }
    default:
      throw unknownFormat()
  }
}

/** What a script published to an inbox. Null for anything else: a strange message is as good as lost. */
export function callOf(message: string): Call | null {
  const [kind, id = '', name = ''] = message.split('\0')
  if (kind !== 'free' && kind !== 'contended' && kind !== 'evicted' && kind !== 'revoked') return null
  return { kind, id, key: keyOf(name) }
}

export function unknownFormat(): UnsupportedError {
  return new UnsupportedError(
    'the key is kept in a format that this version of holdfast does not know: upgrade it in this process',
  )
}

/** The last one is remembered: mostly all are the same. */
function ttlText(ttlMs: number): string {
  if (ttlMs !== lastTtl.ttlMs) lastTtl = { ttlMs, text: digits(ttlMs, 10) }
  return lastTtl.text
}

let lastTtl = { ttlMs: -1, text: '' }

function digits(number: number, width: number): string {
  const text = String(number)
  return text.length === width ? text : text.padStart(width, '0')
}

import { UnsupportedError } from '../../errors.ts'
import {
  type Blocked,
  type Claim,
  type ClaimAnswer,
  type Mode,
  type Refused,
  type ReleaseAnswer,
  type RenewAnswer,
  SPARE_TOKENS,
  tokenOf,
} from '../../model/index.ts'
import { RULES } from './rules.ts'

const KINDS = { exclusive: 'e', shared: 's', permits: 'p' } as const

/**
 * Claims as attempt.lua reads them. Fields are ended by U+0000, which no text of a claim can contain. The claims of one
 * process are mostly alike but for their ids; then the first one says so, and the others are no more than those.
 */
export function claimTexts(claims: readonly Claim[], inbox: string): string[] {
  const first = claims[0] as Claim
  if (claims.length === 1) return [claimText(first, inbox)]
  if (!areAlike(first, claims)) return claims.map((claim) => claimText(claim, inbox))
  const texts = claims.map(idOf)
  texts[0] = plainText(first, inbox, first.queue ? 'X' : 'Y')
  return texts
}

function claimText(claim: Claim, inbox: string): string {
  if (isPlain(claim)) return plainText(claim, inbox, claim.queue ? 'x' : 'y')
  return `f${digits(claim.ttlMs)}${whoText(claim, inbox)}${furtherText(claim)}`
}

function plainText(claim: Claim, inbox: string, letter: string): string {
  return letter + digits(claim.ttlMs) + whoText(claim, inbox) + lifeOf(claim.ttlMs)
}

/** How long the key is kept, and how many digits that has. The last one is remembered: mostly all are the same. */
function lifeOf(ttlMs: number): string {
  if (ttlMs !== lastLife.ttlMs) {
    const life = String(ttlMs + RULES.keepSeqMs)
    lastLife = { ttlMs, text: `${life}${life.length}` }
  }
  return lastLife.text
}

let lastLife = { ttlMs: -1, text: '' }
let lastDigits = { ttlMs: -1, text: '' }

function whoText({ id, label, actor, meta, lockDelayMs }: Claim, inbox: string): string {
  return `${id}\0${inbox}\0${label}\0${actor ?? ''}\0${meta ?? ''}\0${lockDelayMs}\0`
}

function areAlike(first: Claim, claims: readonly Claim[]): boolean {
  if (!isPlain(first)) return false
  const { ttlMs, queue, label, actor, meta, lockDelayMs } = first
  return claims.every(
    (claim) =>
      isPlain(claim) &&
      claim.ttlMs === ttlMs &&
      claim.queue === queue &&
      claim.label === label &&
      claim.actor === actor &&
      claim.meta === meta &&
      claim.lockDelayMs === lockDelayMs,
  )
}

export function idOf({ id }: Claim): string {
  return id
}

export function renewText({ id, ttlMs }: Claim): string {
  return digits(ttlMs) + id
}

/** What attempt.lua answered: one number for all claims, or an answer for each. */
export function claimAnswers(answer: unknown, count: number): readonly ClaimAnswer[] {
  return eachOf(answer, count, claimAnswer)
}

export function renewAnswers(answer: unknown, count: number): readonly RenewAnswer[] {
  return eachOf(answer, count, renewAnswer)
}

export function releaseAnswers(answer: unknown, count: number): readonly ReleaseAnswer[] {
  return eachOf(answer, count, releaseAnswer)
}

function eachOf<A>(answer: unknown, count: number, meaning: (answer: unknown) => A): readonly A[] {
  if (Array.isArray(answer)) return answer.map(meaning)
  const common = meaning(answer)
  return count === 1 ? [common] : Array<A>(count).fill(common)
}

function claimAnswer(answer: unknown): ClaimAnswer {
  if (!Array.isArray(answer)) return granted(Math.abs(Number(answer)), SPARE_TOKENS, Number(answer) < 0)
  switch (answer[0]) {
    case 'granted':
      return granted(Number(answer[1]), 0, Number(answer[2]) === 1)
    case 'blocked':
      return blocked(answer)
    case 'refused':
      return { kind: 'refused', reason: answer[1] as Refused['reason'], message: String(answer[2]) }
    default:
      return { kind: 'refused', reason: 'mode', message: UNKNOWN_FORMAT }
  }
}

const UNKNOWN_FORMAT =
  'the key is kept in Redis in a format that this version of holdfast does not know: upgrade it in this process'

export function unknownFormat(): UnsupportedError {
  return new UnsupportedError(UNKNOWN_FORMAT)
}

const RENEWED: RenewAnswer = { kind: 'renewed', contended: false }
const RENEWED_CONTENDED: RenewAnswer = { kind: 'renewed', contended: true }
const LOST: RenewAnswer = { kind: 'lost' }

export function renewAnswer(answer: unknown): RenewAnswer {
  const code = Number(answer)
  if (code < 0) throw unknownFormat()
  return code === 0 ? LOST : code === 1 ? RENEWED : RENEWED_CONTENDED
}

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

export function releaseAnswer(answer: unknown): ReleaseAnswer {
  const code = Number(answer)
  if (code < 0) throw unknownFormat()
  return code === 1 ? RELEASED : ABSENT
}

/** The claim that a waiter in the store came with: the opposite of `claimTexts`. */
export function claimOfText(key: string, text: string): { claim: Claim; inbox: string } {
  const letter = text[0]
  const fields = text.slice(11).split('\0')
  const [id = '', inbox = '', label = '', actor = '', meta = '', delay = '0'] = fields
  const [queue = letter === 'x' ? '1' : '0', kind = 'e', limit = '', weight = '', owner, group, replaces] =
    letter === 'f' ? fields.slice(6) : []
  const claim: Claim = {
    key,
    id,
    mode: modeOf(kind, Number(limit), Number(weight)),
    ttlMs: Number(text.slice(1, 11)),
    queue: queue === '1',
    owner: owner || null,
    actor: actor || null,
    label,
    meta: meta || null,
    lockDelayMs: Number(delay),
    group: group || null,
    replaces: replaces || null,
  }
  return { claim, inbox }
}

export function modeOf(kind: string, limit: number, weight: number): Mode {
  if (kind === 'p') return { kind: 'permits', limit, weight }
  return { kind: kind === 's' ? 'shared' : 'exclusive' }
}

/** What the short path of the script understands: an exclusive claim that needs none of the further fields. */
function isPlain({ mode, owner, group, replaces, lockDelayMs }: Claim): boolean {
  return (
    mode.kind === 'exclusive' &&
    owner === null &&
    group === null &&
    replaces === null &&
    lockDelayMs <= RULES.keepSeqMs
  )
}

function furtherText({ queue, mode, owner, group, replaces }: Claim): string {
  const { limit, weight } = mode.kind === 'permits' ? mode : { limit: 0, weight: 1 }
  const first = `${queue ? 1 : 0}\0${KINDS[mode.kind]}\0${limit}\0${weight}\0`
  return `${first}${owner ?? ''}\0${group ?? ''}\0${replaces ?? ''}\0`
}

function digits(ttlMs: number): string {
  if (ttlMs !== lastDigits.ttlMs) lastDigits = { ttlMs, text: String(ttlMs).padStart(10, '0') }
  return lastDigits.text
}

function granted(seq: number, spare: number, contended: boolean): ClaimAnswer {
  return { kind: 'granted', token: tokenOf(seq), spare, contended }
}

function blocked([, position, retryAfterMs, storeTimeMs, label, heldMs]: readonly unknown[]): Blocked {
  return {
    kind: 'blocked',
    position: Number(position),
    retryAfterMs: Number(retryAfterMs) < 0 ? null : Number(retryAfterMs),
    storeTimeMs: Number(storeTimeMs),
    holder: typeof label === 'string' ? { label, heldMs: Number(heldMs) } : null,
  }
}

import type { ClaimReply, ReleaseReply, RenewReply } from '../../core/store.ts'
import { StoreError, UnsupportedError } from '../../errors.ts'
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

/** A claim as it is sent and stored: JSON without the fields that it does not use. */
export interface ClaimText {
  readonly id: string
  readonly inbox: string
  readonly label: string
  readonly mode: Mode['kind']
  readonly ttl: number
  readonly limit?: number
  readonly weight?: number
  readonly queue?: true
  readonly owner?: string
  readonly actor?: string
  readonly meta?: string
  readonly delay?: number
  readonly group?: string
  readonly replaces?: string
}

/** JSON escapes half of a surrogate pair, and Lua's decoder refuses it. */
const HALF_CHARACTER = /\\ud[89a-f]/

export function claimText(claim: Claim, inbox: string): string {
  const text = JSON.stringify(fieldsOf(claim, inbox))
  if (!HALF_CHARACTER.test(text)) return text
  return JSON.stringify(fieldsOf(claim, inbox), (_, value) =>
    typeof value === 'string' ? Buffer.from(value).toString() : value,
  )
}

function fieldsOf(claim: Claim, inbox: string): ClaimText {
  const { id, label, mode, ttlMs, queue, owner, actor, meta, lockDelayMs, group, replaces } = claim
  return {
    id,
    inbox,
    label,
    mode: mode.kind,
    ttl: ttlMs,
    ...(mode.kind === 'permits' && { limit: mode.limit, weight: mode.weight }),
    ...(queue && { queue }),
    ...(owner !== null && { owner }),
    ...(actor !== null && { actor }),
    ...(meta !== null && { meta }),
    ...(lockDelayMs > 0 && { delay: lockDelayMs }),
    ...(group !== null && { group }),
    ...(replaces !== null && { replaces }),
  }
}

export function idOf({ id }: Claim): string {
  return id
}

export function renewText({ id, ttlMs }: Claim): string {
  return `${ttlMs} ${id}`
}

export function claimAnswers(answer: unknown): readonly ClaimReply[] {
  return (answer as readonly unknown[]).map(claimAnswer)
}

export function renewAnswers(answer: unknown, count: number): readonly RenewReply[] {
  return Array.isArray(answer) ? answer.map(renewAnswer) : Array<RenewReply>(count).fill(renewAnswer(answer))
}

export function releaseAnswers(answer: unknown, count: number): readonly ReleaseReply[] {
  return Array.isArray(answer)
    ? answer.map(releaseAnswer)
    : Array<ReleaseReply>(count).fill(releaseAnswer(answer))
}

function claimAnswer(answer: unknown): ClaimReply {
  if (!Array.isArray(answer)) return granted(Math.abs(Number(answer)), SPARE_TOKENS, Number(answer) < 0)
  switch (answer[0]) {
    case 'granted':
      return granted(Number(answer[1]), 0, Number(answer[2]) === 1)
    case 'blocked':
      return blockedAnswer(answer)
    case 'refused':
      return { kind: 'refused', reason: answer[1] as Refused['reason'], message: String(answer[2]) }
    case 'again':
      return AGAIN
    default:
      return { kind: 'refused', reason: 'format', message: UNKNOWN_FORMAT }
  }
}

const UNKNOWN_FORMAT =
  'the key is kept in Redis in a format that this version of holdfast does not know: use one version in all processes'

export function unknownFormat(): UnsupportedError {
  return new UnsupportedError(UNKNOWN_FORMAT)
}

const AGAIN = {
  kind: 'unknown',
  error: new StoreError('a part of the lock is missing in Redis, as while its slot moves to another server'),
} as const
const LOST: RenewAnswer = { kind: 'lost' }
const RENEWED: RenewAnswer = { kind: 'renewed', contended: false }
const RENEWED_CONTENDED: RenewAnswer = { kind: 'renewed', contended: true }

/** A key in the format of another version is not lost: the lease lives on until its deadline. */
export function renewAnswer(answer: unknown): RenewReply {
  if (Array.isArray(answer)) {
    const [position, storeTimeMs] = answer as readonly unknown[]
    return { kind: 'waiting', position: Number(position), storeTimeMs: Number(storeTimeMs) }
  }
  const code = Number(answer)
  if (code < 0) return unknown(code)
  return code === 0 ? LOST : code === 1 ? RENEWED : RENEWED_CONTENDED
}

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

function releaseAnswer(answer: unknown): ReleaseReply {
  const code = Number(answer)
  if (code < 0) return unknown(code)
  return code === 1 ? RELEASED : ABSENT
}

function unknown(code: number) {
  return code === -2 ? AGAIN : ({ kind: 'unknown', error: unknownFormat() } as const)
}

function granted(seq: number, spare: number, contended: boolean): ClaimAnswer {
  return { kind: 'granted', token: tokenOf(seq), spare, contended }
}

/** Parses a blocked answer; the scripts of the quorum answer the same. */
export function blockedAnswer(answer: readonly unknown[]): Blocked {
  const [, position, retryAfterMs, storeTimeMs, label, heldMs] = answer
  return {
    kind: 'blocked',
    position: Number(position),
    retryAfterMs: Number(retryAfterMs) < 0 ? null : Number(retryAfterMs),
    storeTimeMs: Number(storeTimeMs),
    holder: typeof label === 'string' ? { label, heldMs: Number(heldMs) } : null,
  }
}

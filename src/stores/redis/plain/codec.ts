import type { Blocked, Claim, ClaimAnswer, KeyView, Refused } from '../../../model/index.ts'
import { SPARE_TOKENS, tokenOf } from '../../../model/index.ts'
import { unknownFormat } from '../codec.ts'
import { isOurs } from './names.ts'

/** How a holder is called that came with another library. */
export const STRANGER = 'not a Holdfast process'

/** A claim as plain-attempt.lua reads it. Fields are ended by U+0000, which no text of a claim can contain. */
export function claimText(claim: Claim, inbox: string): string {
  const { ttlMs, id, queue, replaces, label, actor, meta } = claim
  const head = `${ttlMs}\0${id}\0${inbox}\0${queue ? 1 : 0}\0${replaces ?? ''}\0`
  return `${head}${label}\0${actor ?? ''}\0${meta ?? ''}\0`
}

export function renewText({ ttlMs, id }: Claim): string {
  return `${ttlMs}\0${id}`
}

/** Why a claim cannot be made on a plain lock; null when it can. */
export function refusalOf({ key, mode, owner, lockDelayMs }: Claim): Refused | null {
  if (isOurs(key)) return refused('a plain lock cannot stand among the keys of Holdfast itself')
  if (mode.kind !== 'exclusive') return refused(`a plain lock has no ${mode.kind} mode`)
  if (owner !== null) return refused('a plain lock has no named owners')
  return lockDelayMs > 0 ? refused('a plain lock cannot be kept closed after an expiry') : null
}

/** What an answer of plain-attempt.lua means. */
export function claimAnswer(answer: unknown): ClaimAnswer {
  if (!Array.isArray(answer)) {
    const seq = Number(answer)
    return { kind: 'granted', token: tokenOf(Math.abs(seq)), spare: SPARE_TOKENS, contended: seq < 0 }
  }
  switch (answer[0]) {
    case 'blocked':
      return blocked(answer)
    case 'absent':
      return { kind: 'refused', reason: 'absent', message: 'the lease to adopt is no longer held' }
    case 'strange':
      return refused('the key holds data in Redis that are no text, and so no lock')
    default:
      return refused(unknownFormat().message)
  }
}

/** A key as plain-read.lua shows it. */
export function viewOf(key: string, answer: unknown): KeyView {
  if (!Array.isArray(answer)) throw unknownFormat()
  const [seq, expiresInMs, heldMs, tail] = answer as [unknown, unknown, unknown, unknown]
  const token = Number(seq) === 0 ? null : tokenOf(Number(seq))
  const free = { key, holders: [], line: [], token, limit: null, closedForMs: 0 }
  if (expiresInMs === undefined) return free
  const ours = typeof tail === 'string'
  const [label = '', actor = '', meta = ''] = ours ? tail.split('\0') : [STRANGER]
  const holder = {
    label,
    owner: null,
    actor: actor || null,
    mode: 'exclusive' as const,
    weight: 1,
    token: ours ? token : null,
    heldMs: ours ? Number(heldMs) : null,
    expiresInMs: Number(expiresInMs) < 0 ? null : Number(expiresInMs),
    meta: meta || null,
  }
  return { ...free, holders: [holder] }
}

function blocked([, retryAfterMs, storeTimeMs, label, heldMs]: readonly unknown[]): Blocked {
  return {
    kind: 'blocked',
    position: 0,
    retryAfterMs: Number(retryAfterMs) < 0 ? null : Number(retryAfterMs),
    storeTimeMs: Number(storeTimeMs),
    holder: typeof label === 'string' ? { label, heldMs: Number(heldMs) } : { label: STRANGER, heldMs: null },
  }
}

function refused(message: string): Refused {
  return { kind: 'refused', reason: 'mode', message }
}

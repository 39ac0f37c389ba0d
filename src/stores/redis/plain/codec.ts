import type { ClaimReply } from '../../../core/store.ts'
import type { Claim, HolderView, KeyView, Refused, WaiterView } from '../../../model/index.ts'
import { tokenOf } from '../../../model/index.ts'
import { type ClaimText, claimAnswers } from '../codec.ts'
import { isOurs } from '../names.ts'

/** The label of a holder that came with another library. */
export const STRANGER = 'not a Holdfast process'

/** The reason why a claim cannot be made on a plain lock; null when it can. */
export function plainRefusalOf({ key, mode, owner, lockDelayMs }: Claim): Refused | null {
  if (isOurs(key)) return refused('a plain lock cannot stand among the keys of Holdfast itself')
  if (mode.kind !== 'exclusive') return refused(`a plain lock has no ${mode.kind} mode`)
  if (owner !== null) return refused('a plain lock has no named owners')
  return lockDelayMs > 0 ? refused('a plain lock cannot be kept closed after an expiry') : null
}

/** The meaning of the answers of plain-attempt.lua. */
export function plainClaimAnswers(answer: unknown): readonly ClaimReply[] {
  return claimAnswers(answer).map((reply) => {
    const isStranger = reply.kind === 'blocked' && reply.holder?.label === ''
    return isStranger ? { ...reply, holder: { label: STRANGER, heldMs: null } } : reply
  })
}

/** A key as plain-read.lua shows it. */
export type RawPlainLock = readonly [
  seq: number,
  waiters: readonly string[],
  ends: readonly string[],
  expiresInMs?: number,
  heldMs?: number,
  label?: string,
  actor?: string,
  meta?: string,
]

export function plainViewOf(key: string, raw: RawPlainLock, nowMs: number): KeyView {
  const seq = Number(raw[0])
  const token = seq === 0 ? null : tokenOf(seq)
  return {
    key,
    holders: holdersOf(raw, token),
    queue: waitersOf(raw, nowMs),
    token,
    limit: null,
    closedForMs: 0,
  }
}

function holdersOf(raw: RawPlainLock, token: bigint | null): readonly HolderView[] {
  const [, , , expiresInMs, heldMs, label, actor, meta] = raw
  if (expiresInMs === undefined) return []
  const ours = label !== undefined
  return [
    {
      label: label ?? STRANGER,
      owner: null,
      actor: actor || null,
      mode: 'exclusive',
      weight: 1,
      token: ours ? token : null,
      heldMs: ours ? Number(heldMs) : null,
      expiresInMs: Number(expiresInMs) < 0 ? null : Number(expiresInMs),
      meta: meta || null,
    },
  ]
}

/** Waiters whose position is not over. */
function waitersOf([, texts, ends]: RawPlainLock, nowMs: number): readonly WaiterView[] {
  const waiters: WaiterView[] = []
  for (const [index, each] of texts.entries()) {
    const text = JSON.parse(each) as ClaimText & { readonly joined: number }
    const expiresInMs = Number(ends[index]) - nowMs
    if (text.id === undefined || expiresInMs <= 0) continue
    waiters.push({
      label: text.label,
      owner: null,
      actor: text.actor ?? null,
      mode: 'exclusive',
      weight: 1,
      waitedMs: nowMs - text.joined,
      ttlMs: text.ttl,
      expiresInMs,
      meta: text.meta ?? null,
    })
  }
  return waiters
}

function refused(message: string): Refused {
  return { kind: 'refused', reason: 'mode', message }
}

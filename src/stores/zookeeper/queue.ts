import type { Blocked, Refused } from '../../model/index.ts'
import type { LockSession } from './client/lock-session.ts'
import { type StoreContext, tell } from './context.ts'
import { removeNode } from './expiry.ts'
import { prove } from './hold.ts'
import type { LocalClaim, OwnNode } from './local-claims.ts'
import { joinHold } from './nodes.ts'
import { tellGranted } from './notifications.ts'
import type { HolderInfo } from './read.ts'
import type { QueueSnapshot } from './snapshot.ts'

/** The life of a grant that no attempt or renewal has confirmed. */
const OFFER_MS = 1000

/** The state of a claim in the queue; null when its node is gone. */
export type QueueState = 'holds' | 'waits' | Refused | null

/**
 * Decides by the known queue, which may still contain nodes that are gone, and watches the nodes that block a waiter. Only
 * if these are gone too does it list the queue again.
 */
export async function settle(local: LocalClaim): Promise<QueueState> {
  const session = local.session as LockSession
  const snapshot = session.snapshotFor(local)
  for (let lists = 0; ; lists++) {
    if (lists > 0 && !(await snapshot.list())) return null
    const { queue } = snapshot
    const position = queue.find((local.node as OwnNode).name)
    if (position === undefined) return null
    const refusal = queue.refusalOf(local.claim)
    if (refusal !== null) {
      // The claim that it contradicts may be gone by now.
      if (lists === 0) continue
      await removeNode(local)
      local.forget()
      return refusal
    }
    if (queue.holds(position)) {
      if (!snapshot.isDoubtful) return 'holds'
      continue
    }
    const own = queue.holdOfOwner(local.claim.owner)
    if (own !== undefined) {
      if (await joinHold(local, own)) return 'holds'
    } else {
      if (!local.claim.queue) return 'waits'
      // Travels with the watches; the answer to the claim awaits it.
      snapshot.holder().catch(() => {})
      if (await snapshot.follow(local, queue.watchedBy(position))) return 'waits'
    }
  }
}

/** Watches report every change, including the end of a session, so `retryAfterMs` is null. */
export function blockedBy(
  { clock, runtime }: StoreContext,
  holder: HolderInfo | null,
  position: number,
): Blocked {
  const heldMs = holder === null ? 0 : Math.max(0, Math.round(clock.nowMs() - holder.sinceMs))
  return {
    kind: 'blocked',
    position,
    retryAfterMs: null,
    storeTimeMs: runtime.nowMs(),
    holder: holder === null ? null : { label: holder.label, heldMs },
  }
}

/** 1 is next; 0 when the position is unknown. */
export function positionOf({ node }: LocalClaim, { queue }: QueueSnapshot): number {
  const position = queue.find((node as OwnNode).name)
  return position === undefined ? 0 : Math.max(1, queue.positionOf(position))
}

/** Looks again after the queue before a waiter has changed. */
export function wake(local: LocalClaim): void {
  // After a failure, the next connection or the next attempt looks again.
  local.inTurn(() => advance(local)).catch(() => {})
}

async function advance(local: LocalClaim): Promise<void> {
  if (local.phase !== 'waiting' || !local.session?.isUsable) return
  const { context } = local
  const sentAtMs = context.runtime.nowMs()
  if (sentAtMs >= local.deadlineMs) return
  // Nodes before a position only disappear, so even a stale queue never grants too early while the own node exists.
  const isThere = local.provenUntilMs >= sentAtMs + OFFER_MS || (await prove(local, sentAtMs))
  const state = isThere ? await settle(local) : null
  if (local.phase !== 'waiting') {
    // A refused claim gets the reason when it asks again.
    const { key, id } = local.claim
    if (state !== 'holds' && state !== 'waits') tell(context, { kind: 'retry', key, id })
  } else if (state === null) local.lose('evicted')
  else if (state === 'holds') offer(local, sentAtMs)
}

function offer(local: LocalClaim, sentAtMs: number): void {
  const lifeMs = Math.min(local.claim.ttlMs, OFFER_MS)
  // New claims are unknown before the next list; after a queue there usually is one.
  local.contended = true
  local.hold('offered', sentAtMs + lifeMs)
  tellGranted(local, sentAtMs, lifeMs)
}

import type { Blocked, Refused } from '../../model/index.ts'
import type { Desk } from './context.ts'
import type { Entry, OwnNode } from './local-claims.ts'
import { removeNode } from './expiry.ts'
import { tokenFrom } from './format.ts'
import { prove, spareOf } from './hold.ts'
import type { HolderSeen } from './holder.ts'
import type { LockSession } from './client/lock-session.ts'
import { join } from './places.ts'
import type { Snapshot } from './snapshot.ts'

/** A grant that nobody asked for in this very moment is an offer, and lives for that long unless it is confirmed. */
const OFFER_MS = 1000

/** What the queue means for a claim that stands in it. Null when its node is not there any more. */
export type Standing = 'holds' | 'waits' | Refused | null

/**
 * Decides by what the process knows of the queue, which may still have places that are gone by now, and asks only for those that
 * a waiting claim has to watch. Only when these are gone, too, is the queue listed again.
 */
export async function settle(desk: Desk, entry: Entry): Promise<Standing> {
  const session = entry.session as LockSession
  const snapshot = session.snapshotFor(entry)
  for (let lists = 0; ; lists++) {
    if (lists > 0 && !(await snapshot.list())) return null
    const { queue } = snapshot
    const place = queue.find((entry.node as OwnNode).name)
    if (place === undefined) return null
    const refusal = queue.refusalOf(entry.claim)
    if (refusal !== null) {
      // The place that it contradicts may be gone by now.
      if (lists === 0) continue
      await removeNode(entry)
      desk.forget(entry)
      return refusal
    }
    if (queue.holds(place)) {
      if (!snapshot.isDoubtful) return 'holds'
      continue
    }
    const own = queue.holdOfOwner(entry.claim.owner)
    if (own !== undefined) {
      if (await join(desk, entry, session, own)) return 'holds'
    } else {
      if (!entry.claim.queue) return 'waits'
      // Travels with what is to be watched; the answer will tell it.
      snapshot.holder().catch(() => {})
      if (await snapshot.follow(entry, queue.watchedBy(place))) return 'waits'
    }
  }
}

/** Only a push can change the answer: also a session that expires deletes its nodes. */
export function blockedBy(desk: Desk, holder: HolderSeen | null, position: number): Blocked {
  const heldMs = holder === null ? 0 : Math.max(0, Math.round(desk.clock.nowMs() - holder.sinceMs))
  return {
    kind: 'blocked',
    position,
    retryAfterMs: null,
    storeTimeMs: desk.runtime.nowMs(),
    holder: holder === null ? null : { label: holder.label, heldMs },
  }
}

/** A waiter's number in the queue, 1 is next; 0 when it is not known. */
export function positionOf({ node }: Entry, { queue }: Snapshot): number {
  const place = queue.find((node as OwnNode).name)
  return place === undefined ? 0 : Math.max(1, queue.positionOf(place))
}

/** Something before a waiting claim has changed. */
export function wake(desk: Desk, entry: Entry): void {
  // What fails here is made up for when the connection is back, and by the claim that is sent again.
  entry.inTurn(() => advance(desk, entry)).catch(() => {})
}

async function advance(desk: Desk, entry: Entry): Promise<void> {
  if (entry.phase !== 'waiting' || !entry.session?.isUsable) return
  const sentAtMs = desk.runtime.nowMs()
  if (sentAtMs >= entry.deadlineMs) return
  // Those before a place can only go, so an old queue can say that it holds only when it does, if its node is there.
  const isThere = entry.provenUntilMs >= sentAtMs + OFFER_MS || (await prove(entry, sentAtMs))
  const standing = isThere ? await settle(desk, entry) : null
  if (entry.phase !== 'waiting') {
    // The claim was refused, and hears why when it asks again.
    const { key, id } = entry.claim
    if (standing !== 'holds' && standing !== 'waits') desk.tell({ kind: 'retry', key, id })
  } else if (standing === null) desk.lose(entry, 'evicted')
  else if (standing === 'holds') offer(desk, entry, sentAtMs)
}

function offer(desk: Desk, entry: Entry, sentAtMs: number): void {
  const lifeMs = Math.min(entry.claim.ttlMs, OFFER_MS)
  // A newcomer is not known before the next list; where there was a queue there is one, most likely.
  entry.contended = true
  desk.hold(entry, 'offered', sentAtMs + lifeMs)
  tellGranted(desk, entry, sentAtMs, lifeMs)
}

export function tellGranted(desk: Desk, entry: Entry, sentAtMs: number, lifeMs: number): void {
  const { key, id, owner } = entry.claim
  desk.tell({
    kind: 'granted',
    key,
    id,
    token: tokenFrom((entry.node as OwnNode).place.founder),
    spare: spareOf(owner),
    contended: entry.contended,
    storeTimeMs: sentAtMs,
    lifeMs,
  })
}

import { MOST_TOLD_OF_CONTENTION } from '../../model/index.ts'
import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import { tell } from './context.ts'
import { keyDataOf } from './format.ts'
import { granted } from './hold.ts'
import type { LocalClaim, OwnNode } from './local-claims.ts'
import type { QueueSnapshot } from './snapshot.ts'

/** Watches for the end of a hold, for requests of operators, and for the first waiter. */
export function watchHold(local: LocalClaim): void {
  const { session, node } = local
  if (!local.holds || node === null || local.isMoving || !session?.isUsable) return
  if (!local.nodeWatched) void watchNode(local, session, node)
  if (!local.asksWatched) void watchAsks(local, session)
  if (!local.contended) void watchArrivals(local, session)
}

async function watchNode(local: LocalClaim, { client }: LockSession, { path }: OwnNode): Promise<void> {
  local.nodeWatched = true
  // A deleted node may have been remade, so the watch is requested again.
  const changed = (): void => {
    if (local.node?.path !== path) return
    local.nodeWatched = false
    local.nodeArmed = false
    watchHold(local)
  }
  try {
    await client.attend(path, changed)
    local.nodeArmed = local.nodeWatched
  } catch (error) {
    if (local.node?.path !== path) return
    local.nodeWatched = false
    if (isWire(error, 'NoNode') && local.holds && !local.isMoving) local.lose('evicted')
  }
}

/** An operator writes to the container of the key; only its own process changes a node. */
async function watchAsks(local: LocalClaim, session: LockSession): Promise<void> {
  const { keyPath } = local
  local.asksWatched = true
  session.snapshotFor(local)
  // The container outlives its claims, which therefore share one watch.
  const known = session.keysWatched.has(keyPath)
  session.keysWatched.add(keyPath)
  const watcher = (): void => {
    session.keysWatched.delete(keyPath)
    for (const each of session.snapshotOf(keyPath)?.users ?? []) {
      each.asksWatched = false
      watchHold(each)
    }
  }
  try {
    const { data } = await session.client.getData(keyPath, known ? undefined : watcher)
    noteAsks(local, keyDataOf(data).asks[(local.node as OwnNode).position.seq])
  } catch {
    local.asksWatched = false
    if (!known) session.keysWatched.delete(keyPath)
  }
}

function noteAsks(local: LocalClaim, asks = 0): void {
  if (asks <= local.asks || !local.holds) return
  local.asks = asks
  const { key, id } = local.claim
  tell(local.context, { kind: 'revoked', key, id })
}

/** One holder watches for all; a renewal that finds no waiter watches again. */
async function watchArrivals(local: LocalClaim, session: LockSession): Promise<void> {
  const snapshot = session.snapshotFor(local)
  if ((await snapshot.watchArrivals()) && snapshot.queue.isContended) tellContended(snapshot)
}

/** A claim came to the key; it may have gone again. */
export function arrived(local: LocalClaim, atMs: number): void {
  if (local.context.runtime.nowMs() >= atMs) watchHold(local)
  else local.wakeAt(Math.min(atMs, local.deadlineMs))
}

function tellContended({ users }: QueueSnapshot): void {
  let told = 0
  for (const local of users) {
    if (!local.holds || local.contended) continue
    if (told++ === MOST_TOLD_OF_CONTENTION) return
    local.contended = true
    local.alone = false
    const { key, id } = local.claim
    tell(local.context, { kind: 'contended', key, id })
  }
}

export function tellGranted(local: LocalClaim, sentAtMs: number, lifeMs: number): void {
  const { key, id } = local.claim
  tell(local.context, { ...granted(local), key, id, storeTimeMs: sentAtMs, lifeMs })
}

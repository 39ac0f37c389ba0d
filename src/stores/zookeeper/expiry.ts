import type { ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import type { MultiOp } from './client/operations.ts'
import { findClaim, tell } from './context.ts'
import type { LocalClaim } from './local-claims.ts'
import { remake } from './nodes.ts'
import { watchHold } from './notifications.ts'
import { readQueue, unlessGone } from './read.ts'

const NOTHING = Buffer.alloc(0)

/** Handles the timer of a claim: its deadline, or the time from which a hold watches its key. */
export function due(local: LocalClaim, nowMs: number): void {
  if (nowMs >= local.deadlineMs || local.phase === 'over') {
    local.inTurn(() => expire(local)).catch(() => {})
    return
  }
  local.wakeAt(local.deadlineMs)
  watchHold(local)
}

/**
 * Ends a claim whose own time is up while its session lives on, by deleting its node. If that fails, the node is deleted
 * after a reconnect, or ends with its session.
 */
export async function expire(local: LocalClaim): Promise<void> {
  const { claim, context } = local
  // A forgotten claim has no node: a node with its id belongs to the same claim, made anew.
  if (findClaim(context, claim) !== local) return
  if (context.runtime.nowMs() < local.deadlineMs && local.phase !== 'over') return
  const { key, id, lockDelayMs } = claim
  if (local.holds) tell(context, { kind: 'lost', key, id, cause: 'expired' })
  if (local.holds && lockDelayMs > 0) await keepClosed(local)
  else await endClaim(local)
}

/** Deletes all of a claim in ZooKeeper. */
export async function endClaim(local: LocalClaim): Promise<void> {
  const { claim, context, session } = local
  if (findClaim(context, claim) !== local) return
  local.phase = 'over'
  if (session !== null) {
    if (!session.isUsable) return
    if (local.node === null) await findNode(local)
    await removeNode(local)
  }
  local.forget()
}

/** Remakes the node as one that only closes the key, for the lock delay. */
async function keepClosed(local: LocalClaim): Promise<void> {
  const { lockDelayMs } = local.claim
  local.phase = 'closed'
  local.deadlineMs += lockDelayMs
  local.wakeAt(local.deadlineMs)
  await remake(local, local.session as LockSession, { closedMs: lockDelayMs })
}

/** Finds the node of a claim whose creation was not answered. */
export async function findNode(local: LocalClaim): Promise<void> {
  const { claim, context, keyPath, session } = local
  const found = (await readQueue(context, session as LockSession, keyPath))?.findId(claim.id)
  if (found === undefined) return
  const { name } = found.node
  local.stand({ name, path: `${keyPath}/${name}`, position: { seq: 0, founder: 0n } }, false)
}

/** Deletes the claim's node, and the container if it has no other. False when there was no node. */
export async function removeNode(local: LocalClaim, held = false): Promise<boolean> {
  const { node, keyPath, claim } = local
  if (node === null) return false
  const session = local.session as LockSession
  const { client } = session
  const own: MultiOp = { kind: 'delete', path: node.path }
  const container: MultiOp = { kind: 'delete', path: keyPath }
  // A last change of the node tells its watchers that it held the key. Claims of a named owner may share the hold, so they omit it.
  const farewell: MultiOp = { kind: 'set', path: node.path, data: NOTHING }
  const deleted =
    (local.alone ? await deleteAll(client, [own, container]) : null) ??
    (held && claim.owner === null ? await deleteAll(client, [farewell, own]) : null) ??
    (await deleteNode(client, node.path))
  local.node = null
  session.snapshotOf(keyPath)?.ended(node.name)
  return deleted
}

/** Null when the container has another node, and must stay. */
async function deleteAll(client: ZooKeeperClient, ops: readonly MultiOp[]): Promise<boolean | null> {
  const result = await client.multi(ops)
  if (result.ok) return true
  if (isWire(result.error, 'NotEmpty')) return null
  if (isWire(result.error, 'NoNode')) return false
  throw result.error
}

/** False when there was no such node. */
export async function deleteNode(client: ZooKeeperClient, path: string): Promise<boolean> {
  return (await unlessGone(client.delete(path).then(() => true))) ?? false
}

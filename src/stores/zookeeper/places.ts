import type { Claim, Mode } from '../../model/index.ts'
import type { Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { type NodeData, nodeData } from './format.ts'
import { nodeStem, type PlaceName, parseName } from './names.ts'
import type { LockSession } from './sessions.ts'
import type { Step } from './wire/operations.ts'

/**
 * Puts a node of the claim at a place that is there already, in one transaction with what must be true or go for that.
 * False when it was not true any more.
 */
export async function standAt(
  desk: Desk,
  entry: Entry,
  session: LockSession,
  mode: Mode,
  place: PlaceName,
  before: readonly Step[],
  more: Partial<NodeData> = {},
): Promise<boolean> {
  const { claim, keyPath } = entry
  const path = `${keyPath}/${nodeStem({ ...claim, mode }, place)}`
  const data = nodeData(claim, { waitedMs: Math.round(entry.heldAtMs - desk.runtime.nowMs()), ...more })
  const node = { kind: 'create', path, data, node: 'ephemeral sequential', acl: desk.acl } as const
  // The end of its old node, if it has one, is not the end of the claim.
  entry.isMoving = true
  try {
    const result = await session.client.multi([...before, node])
    if (!result.ok) {
      if (result.error.reason === 'NoNode') return false
      throw result.error
    }
    const made = result.done.at(-1)?.path as string
    if (entry.session !== session) entry.asksWatched = false
    desk.attach(entry, session)
    desk.stand(entry, { name: made.slice(keyPath.length + 1), path: made, place }, false)
    entry.nodeWatched = false
    return true
  } finally {
    entry.isMoving = false
  }
}

/**
 * Another node at the same place: for another session, in another mode, or with other data, because who waits behind a node
 * takes a change of it for its release.
 */
export function move(
  desk: Desk,
  entry: Entry,
  session: LockSession,
  mode: Mode,
  more: Partial<NodeData> = {},
): Promise<boolean> {
  const { path, place } = entry.node as OwnNode
  return standAt(desk, entry, session, mode, place, [{ kind: 'delete', path }], more)
}

/** How long a claim's node has to outlive its process: for the ttl, and for as long as the key stays closed then. */
export function lifeOf({ ttlMs, lockDelayMs }: Pick<Claim, 'ttlMs' | 'lockDelayMs'>): number {
  return ttlMs + lockDelayMs
}

/** The mode that a claim's node stands in, which is that of its hold. */
export function modeOfNode(entry: Entry): Mode {
  return parseName((entry.node as OwnNode).name).mode
}

import { type Claim, type ClaimAnswer, covers, type Mode, refused } from '../../model/index.ts'
import type { LockSession } from './client/lock-session.ts'
import type { MultiOp } from './client/operations.ts'
import type { NodeKind } from './client/protocol.ts'
import { type NodeData, nodeData, tokenFrom } from './format.ts'
import type { LocalClaim, OwnNode } from './local-claims.ts'
import { type NodeName, nodeStem, type PositionName, parseName } from './names.ts'
import type { FoundClaim, Position } from './node-queue.ts'
import { founderOf, readFounder, readNode } from './read.ts'

/** Remakes the claim's node in one step under the same name: in another session, or with other data. */
export function remake(
  local: LocalClaim,
  session: LockSession,
  more: Partial<NodeData> = {},
): Promise<boolean> {
  const { path, position } = local.node as OwnNode
  return make(local, session, position, [{ kind: 'delete', path }], { path, node: 'ephemeral' }, more)
}

/** Makes a holding writer a reader. */
export function downgrade(local: LocalClaim, mode: Mode): Promise<boolean> {
  const { path, position } = local.node as OwnNode
  return makeAt(local, mode, position, [{ kind: 'delete', path }])
}

/** Joins a claim of a named owner to the owner's hold; false when that ended meanwhile. */
export async function joinHold(local: LocalClaim, hold: Position): Promise<boolean> {
  const { client } = local.session as LockSession
  const member = hold.nodes[0] as NodeName
  const path = `${local.keyPath}/${member.name}`
  const founder = await readFounder(client, path, member)
  if (founder === null) return false
  const leaving = local.node === null ? [] : [{ kind: 'delete', path: local.node.path } as const]
  return makeAt(local, hold.mode, { seq: hold.seq, founder }, [{ kind: 'check', path }, ...leaving])
}

/**
 * Takes over the claim's existing node: its creation was not answered, or another process made it. Remakes a node of another
 * session in ours, because a node ends with its session. Null when the node is gone; otherwise `taken`, or the answer to the claim.
 */
export async function takeOver(
  local: LocalClaim,
  { position, node }: FoundClaim,
  holds: boolean,
): Promise<'taken' | ClaimAnswer | null> {
  const session = local.session as LockSession
  const path = `${local.keyPath}/${node.name}`
  const read = await readNode(session.client, path)
  if (read === null) return null
  if (read.data.closedMs !== undefined) {
    local.forget()
    return { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs: session.nowMs(), holder: null }
  }
  if (holds && !covers(position.mode, local.claim.mode)) {
    local.forget()
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  }
  const at = node.position ?? { seq: position.seq, founder: founderOf(node, read.data, read.stat) }
  local.stand({ name: node.name, path, position: at }, false)
  if (read.stat.ephemeralOwner === session.client.session.id) return 'taken'
  return (await remake(local, session)) ? 'taken' : null
}

/** Makes another node at an existing position. */
function makeAt(
  local: LocalClaim,
  mode: Mode,
  position: PositionName,
  before: readonly MultiOp[],
): Promise<boolean> {
  const path = `${local.keyPath}/${nodeStem({ ...local.claim, mode }, position)}`
  const session = local.session as LockSession
  return make(local, session, position, before, { path, node: 'ephemeral sequential' }, {})
}

/** Makes the node in one transaction with `before`; false when one of those fails. */
async function make(
  local: LocalClaim,
  session: LockSession,
  position: PositionName,
  before: readonly MultiOp[],
  { path, node }: { path: string; node: NodeKind },
  more: Partial<NodeData>,
): Promise<boolean> {
  const { claim, context, keyPath } = local
  const waitedMs = Math.round(local.heldAtMs - context.runtime.nowMs())
  const data = nodeData(claim, { waitedMs, token: String(tokenFrom(position.founder)), ...more })
  // The deletion of its old node is not the end of the claim.
  local.isMoving = true
  try {
    const create: MultiOp = { kind: 'create', path, data, node, acl: context.acl }
    const result = await session.client.multi([...before, create])
    if (!result.ok) {
      if (result.error.reason === 'NoNode') return false
      throw result.error
    }
    const made = result.done.at(-1)?.path as string
    if (local.session !== session) local.asksWatched = false
    local.attach(session)
    local.stand({ name: made.slice(keyPath.length + 1), path: made, position }, false)
    local.nodeWatched = false
    local.nodeArmed = false
    return true
  } catch (error) {
    // A node under a new name may exist or not: the id finds it.
    if (node !== 'ephemeral') local.node = null
    throw error
  } finally {
    local.isMoving = false
  }
}

/** Remakes the node in a session whose nodes live long enough. */
export async function outlive(local: LocalClaim, lifeMs: number): Promise<boolean> {
  const { sessions } = local.context
  const session = await sessions.forLife(lifeMs, local.bytes)
  try {
    return await remake(local, session)
  } finally {
    if (local.session !== session) sessions.giveBack(session, local.bytes)
  }
}

/** A node must outlive its process by the ttl, and by the time for which the key stays closed after that. */
export function lifeOf({ ttlMs, lockDelayMs }: Pick<Claim, 'ttlMs' | 'lockDelayMs'>): number {
  return ttlMs + lockDelayMs
}

/** The mode of a claim's node, which is that of its hold. */
export function modeOfNode({ node }: LocalClaim): Mode {
  return parseName((node as OwnNode).name).mode
}

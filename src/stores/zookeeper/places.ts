import {
  type Claim,
  type ClaimAnswer,
  covers,
  type Mode,
  refused,
  TOKENS_PER_SEQ,
} from '../../model/index.ts'
import type { Desk } from './context.ts'
import type { Entry, OwnNode } from './local-claims.ts'
import { type NodeData, nodeData, nodeDataOf, tokenFrom } from './format.ts'
import type { LockSession } from './client/lock-session.ts'
import { type NodeName, nodeStem, type PlaceName, parseName } from './names.ts'
import type { Place } from './node-queue.ts'
import { isWire } from './client/errors.ts'
import type { Step } from './client/operations.ts'
import type { NodeKind, Stat } from './client/protocol.ts'

/** The claim's node made anew, in one step and by its name: for another session, or with other data. */
export function move(
  desk: Desk,
  entry: Entry,
  session: LockSession,
  more: Partial<NodeData> = {},
): Promise<boolean> {
  const { path, place } = entry.node as OwnNode
  return make(desk, entry, session, place, [{ kind: 'delete', path }], { path, node: 'ephemeral' }, more)
}

/** A writer that holds the key becomes a reader. */
export function downgrade(desk: Desk, entry: Entry, session: LockSession, mode: Mode): Promise<boolean> {
  const { path, place } = entry.node as OwnNode
  return standAt(desk, entry, session, mode, place, [{ kind: 'delete', path }])
}

/** A claim of a named owner becomes part of the owner's hold. False when that ended meanwhile. */
export async function join(desk: Desk, entry: Entry, session: LockSession, hold: Place): Promise<boolean> {
  const member = hold.nodes[0] as NodeName
  const path = `${entry.keyPath}/${member.name}`
  const founder = await founderAt(session, path, member)
  if (founder === null) return false
  const leaving = entry.node === null ? [] : [{ kind: 'delete', path: entry.node.path } as const]
  const steps = [{ kind: 'check', path } as const, ...leaving]
  return standAt(desk, entry, session, hold.mode, { seq: hold.seq, founder }, steps)
}

/**
 * The claim's node is there already: its making was not answered, or another process made it. A node of another session
 * is made anew in ours, because a node lives and dies with its session. Null when it is gone; or what the claim is answered.
 */
export async function takeOver(
  desk: Desk,
  entry: Entry,
  { place, node }: { place: Place; node: NodeName },
  holds: boolean,
): Promise<'taken' | ClaimAnswer | null> {
  const session = entry.session as LockSession
  const path = `${entry.keyPath}/${node.name}`
  const read = await readNode(session, path)
  if (read === null) return null
  if (read.data.closedMs !== undefined) {
    desk.forget(entry)
    return {
      kind: 'blocked',
      position: 0,
      retryAfterMs: null,
      storeTimeMs: desk.runtime.nowMs(),
      holder: null,
    }
  }
  if (holds && !covers(place.mode, entry.claim.mode)) {
    desk.forget(entry)
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  }
  const at = node.place ?? { seq: place.seq, founder: founderOf(node, read.data, read.stat) }
  desk.stand(entry, { name: node.name, path, place: at }, false)
  if (read.stat.ephemeralOwner === session.client.session.id) return 'taken'
  return (await move(desk, entry, session)) ? 'taken' : null
}

/** The czxid that a place's token is made from. Null when the node is gone. */
export async function founderAt(session: LockSession, path: string, node: NodeName): Promise<bigint | null> {
  if (node.place !== null) return node.place.founder
  const read = await readNode(session, path)
  return read === null ? null : founderOf(node, read.data, read.stat)
}

export function founderOf({ place }: NodeName, { token }: NodeData, { czxid }: Stat): bigint {
  return place?.founder ?? (token === undefined ? czxid : BigInt(token) / TOKENS_PER_SEQ)
}

async function readNode(
  { client }: LockSession,
  path: string,
): Promise<{ data: NodeData; stat: Stat } | null> {
  try {
    const { data, stat } = await client.getData(path)
    return { data: nodeDataOf(data), stat }
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

/** Another node at a place that is there already. */
function standAt(
  desk: Desk,
  entry: Entry,
  session: LockSession,
  mode: Mode,
  place: PlaceName,
  before: readonly Step[],
): Promise<boolean> {
  const path = `${entry.keyPath}/${nodeStem({ ...entry.claim, mode }, place)}`
  return make(desk, entry, session, place, before, { path, node: 'ephemeral sequential' }, {})
}

/** One transaction with what must be true or go for that. False when it was not true any more. */
async function make(
  desk: Desk,
  entry: Entry,
  session: LockSession,
  place: PlaceName,
  before: readonly Step[],
  { path, node }: { path: string; node: NodeKind },
  more: Partial<NodeData>,
): Promise<boolean> {
  const { claim, keyPath } = entry
  const waitedMs = Math.round(entry.heldAtMs - desk.runtime.nowMs())
  const data = nodeData(claim, { waitedMs, token: String(tokenFrom(place.founder)), ...more })
  // The end of its old node, if it has one, is not the end of the claim.
  entry.isMoving = true
  try {
    const result = await session.client.multi([
      ...before,
      { kind: 'create', path, data, node, acl: desk.acl },
    ])
    if (!result.ok) {
      if (result.error.reason === 'NoNode') return false
      throw result.error
    }
    const made = result.done.at(-1)?.path as string
    if (entry.session !== session) entry.asksWatched = false
    desk.attach(entry, session)
    desk.stand(entry, { name: made.slice(keyPath.length + 1), path: made, place }, false)
    entry.nodeWatched = false
    entry.nodeArmed = false
    return true
  } catch (error) {
    // A node with another name may be there or not: it is looked for by the id.
    if (node !== 'ephemeral') entry.node = null
    throw error
  } finally {
    entry.isMoving = false
  }
}

/** The same in a session whose nodes live long enough. */
export async function outlive(desk: Desk, entry: Entry, lifeMs: number): Promise<boolean> {
  const session = await desk.sessions.forLife(lifeMs, entry.bytes)
  try {
    return await move(desk, entry, session)
  } finally {
    if (entry.session !== session) desk.sessions.giveBack(session, entry.bytes)
  }
}

/** How long a claim's node has to outlive its process: for the ttl, and for as long as the key stays closed then. */
export function lifeOf({ ttlMs, lockDelayMs }: Pick<Claim, 'ttlMs' | 'lockDelayMs'>): number {
  return ttlMs + lockDelayMs
}

/** The mode that a claim's node stands in, which is that of its hold. */
export function modeOfNode(entry: Entry): Mode {
  return parseName((entry.node as OwnNode).name).mode
}

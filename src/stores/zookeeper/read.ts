import { TOKENS_PER_SEQ } from '../../model/index.ts'
import { both, type ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import type { Stat } from './client/protocol.ts'
import type { StoreContext } from './context.ts'
import { type NodeData, nodeDataOf } from './format.ts'
import type { NodeName } from './names.ts'
import { NodeQueue } from './node-queue.ts'

/** The holder of a key, for its waiters. */
export interface HolderInfo {
  readonly label: string
  readonly sinceMs: number
}

/** The queue of a key as the leader knows it now; null when the key is not in use. Calls of one turn share a list. */
export function readQueue(
  { paths }: StoreContext,
  session: LockSession,
  keyPath: string,
): Promise<NodeQueue | null> {
  const { client } = session
  return session.oncePerTurn(keyPath, async () => {
    const [, queue] = await both(client.sync(paths.root), listQueue(client, keyPath))
    return queue
  })
}

/** The queue as this session's server knows it: at least as new as all that the session has seen or done. */
export async function listQueue(client: ZooKeeperClient, keyPath: string): Promise<NodeQueue | null> {
  const names = await unlessGone(client.list(keyPath))
  return names === null ? null : new NodeQueue(names)
}

export async function readNode(
  client: ZooKeeperClient,
  path: string,
): Promise<{ readonly data: NodeData; readonly stat: Stat } | null> {
  const read = await unlessGone(client.getData(path))
  return read === null ? null : { data: nodeDataOf(read.data), stat: read.stat }
}

/** The holder of the key; null when it has just gone. */
export async function readHolder(
  { client }: LockSession,
  keyPath: string,
  queue: NodeQueue,
): Promise<HolderInfo | null> {
  const name = nameOfHolder(queue)
  const read = name === undefined ? null : await readNode(client, `${keyPath}/${name}`)
  return read && { label: read.data.label, sinceMs: read.stat.ctimeMs + (read.data.waitedMs ?? 0) }
}

export function nameOfHolder({ first }: NodeQueue): string | undefined {
  return first?.nodes[0]?.name
}

/** The czxid that the token of a position is made from; null when the node is gone. */
export async function readFounder(
  client: ZooKeeperClient,
  path: string,
  node: NodeName,
): Promise<bigint | null> {
  if (node.position !== null) return node.position.founder
  const read = await readNode(client, path)
  return read === null ? null : founderOf(node, read.data, read.stat)
}

export function founderOf({ position }: NodeName, { token }: NodeData, { czxid }: Stat): bigint {
  return position?.founder ?? (token === undefined ? czxid : BigInt(token) / TOKENS_PER_SEQ)
}

/** Null when the node of the request does not exist. */
export async function unlessGone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

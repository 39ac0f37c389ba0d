import { UnsupportedError } from '../../errors.ts'
import { type Claim, type Refused, refused, TOKENS_PER_SEQ } from '../../model/index.ts'
import type { NodeQueue } from './node-queue.ts'

const FORMAT = 1
/** The data of the root node: the version of everything below it. */
export const ROOT_DATA = Buffer.from(JSON.stringify({ holdfast: FORMAT }))

export function requireFormat(data: Buffer, path: string): void {
  const { holdfast } = parsed(data) as { holdfast?: unknown }
  if (holdfast === FORMAT) return
  throw new UnsupportedError(
    `${path} in ZooKeeper was not made by this version of Holdfast: choose another path, or upgrade`,
  )
}

/** Refuses a claim on a key with nodes of another version; claims already in its queue go on. */
export function formatRefusal(queue: NodeQueue): Refused | null {
  const node = queue.foreign[0]
  if (node === undefined) return null
  return refused('format', `ZooKeeper holds a lock of another version of Holdfast: ${node.name.slice(0, 40)}`)
}

export function requireKnown(queue: NodeQueue): void {
  const refusal = formatRefusal(queue)
  if (refusal !== null) throw new UnsupportedError(refusal.message)
}

/** The data of a node, for operators and for the waiters behind it. */
export interface NodeData {
  readonly label: string
  readonly actor: string | null
  readonly meta: string | null
  readonly ttlMs: number
  /** The time from the creation of the node to the grant, once it is known; negative for a node made after the grant. */
  readonly waitedMs?: number
  /** The token of a remade node, whose own czxid is too high. */
  readonly token?: string
  /** Set on an expired claim that keeps the key closed for this time. */
  readonly closedMs?: number
}

/** The czxid rises for the whole ensemble; a sequence number would restart with its container. */
export function tokenFrom(czxid: bigint): bigint {
  return czxid * TOKENS_PER_SEQ
}

export function nodeData({ label, actor, meta, ttlMs }: Claim, more: Partial<NodeData> = {}): Buffer {
  return encoded({ label, actor, meta, ttlMs, ...more })
}

export function encoded(data: NodeData | KeyData): Buffer {
  return Buffer.from(JSON.stringify(data))
}

/** The data of a key's container: how often operators asked the holders at a position to release, by its number. */
export interface KeyData {
  readonly asks: Readonly<Record<string, number>>
}

export function keyDataOf(data: Buffer): KeyData {
  return { asks: {}, ...(parsed(data) as Partial<KeyData>) }
}

export function nodeDataOf(data: Buffer): NodeData {
  return { label: '', actor: null, meta: null, ttlMs: 0, ...(parsed(data) as Partial<NodeData>) }
}

function parsed(data: Buffer): object {
  try {
    const value: unknown = JSON.parse(data.toString())
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

import { UnsupportedError } from '../../errors.ts'
import { type Claim, type Refused, refused, TOKENS_PER_SEQ } from '../../model/index.ts'
import type { Queue } from './node-queue.ts'

const FORMAT = 1
/** Says which version of Holdfast wrote everything below the root. */
export const ROOT_DATA = Buffer.from(JSON.stringify({ holdfast: FORMAT }))

export function requireFormat(data: Buffer, path: string): void {
  const { holdfast } = parsed(data) as { holdfast?: unknown }
  if (holdfast === FORMAT) return
  throw new UnsupportedError(
    `${path} in ZooKeeper was not made by this version of Holdfast: choose another path, or upgrade`,
  )
}

/** Says that the key is kept by rules which we may not know; claims that are in the queue already go on. */
export function formatRefusal(queue: Queue): Refused | null {
  const node = queue.foreign[0]
  if (node === undefined) return null
  return refused('format', `ZooKeeper holds a lock of another version of Holdfast: ${node.name.slice(0, 40)}`)
}

export function requireKnown(queue: Queue): void {
  const refusal = formatRefusal(queue)
  if (refusal !== null) throw new UnsupportedError(refusal.message)
}

/** What a node tells beside its name: for operators, and for those who wait behind it. */
export interface NodeData {
  readonly label: string
  readonly actor: string | null
  readonly meta: string | null
  readonly ttlMs: number
  /** How long after the making of the node it came to hold the key, once that is known; below zero for a node made later. */
  readonly waitedMs?: number
  /** The token of a node that was made anew, whose own czxid tells nothing. */
  readonly token?: string
  /** It expired, and keeps the key closed for that long. */
  readonly closedMs?: number
}

/** Transactions are numbered in one order for the whole ensemble, for ever; the sequence begins anew with its parent. */
export function tokenFrom(czxid: bigint): bigint {
  return czxid * TOKENS_PER_SEQ
}

export function nodeData({ label, actor, meta, ttlMs }: Claim, more: Partial<NodeData> = {}): Buffer {
  return encoded({ label, actor, meta, ttlMs, ...more })
}

export function encoded(data: NodeData | KeyData): Buffer {
  return Buffer.from(JSON.stringify(data))
}

/** What the container of a key tells: how often an operator asked the holders at a place to let go, by its number. */
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

import { type Blocked, type Granted, SPARE_TOKENS, TOKENS_PER_SEQ } from '../../model/index.ts'
import type { Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { nodeDataOf } from './format.ts'
import type { Line } from './line.ts'
import type { LockSession } from './sessions.ts'
import { isWire } from './wire/errors.ts'

/** Transactions are numbered in one order for the whole ensemble, for ever; the sequence begins anew with its parent. */
export function tokenFrom(czxid: bigint): bigint {
  return czxid * TOKENS_PER_SEQ
}

export function granted({ claim, node, contended }: Entry): Granted {
  return {
    kind: 'granted',
    token: tokenFrom((node as OwnNode).place.founder),
    spare: spareOf(claim.owner),
    contended,
  }
}

/** Claims of a named owner may share a hold, and then they have one token and none to give away. */
export function spareOf(owner: string | null): number {
  return owner === null ? SPARE_TOKENS : 0
}

/**
 * Only a push can change the answer: also a session that expires deletes its nodes. Who is not next will hardly have to do
 * with the present holder, so that one is looked for only when the wait lasts; the answer tells it from then on.
 */
export async function blockedBy(desk: Desk, entry: Entry, line: Line, position: number): Promise<Blocked> {
  if (position <= 1) await meetHolder(entry, line)
  const answeredAtMs = desk.clock.nowMs()
  return {
    kind: 'blocked',
    position,
    retryAfterMs: null,
    storeTimeMs: desk.runtime.nowMs(),
    get holder() {
      if (entry.holder === null) return null
      const nowMs = desk.clock.nowMs()
      const heldMs = Math.max(0, nowMs - entry.holder.sinceMs)
      return { label: entry.holder.label, heldMs: Math.round(heldMs - (nowMs - answeredAtMs)) }
    },
  }
}

/** The wait lasts: learns who holds the key by now. */
export async function lookForHolder(desk: Desk, entry: Entry): Promise<void> {
  const { client } = entry.session as LockSession
  const line = await desk.lineAt(client, entry.keyPath)
  if (line !== null) await meetHolder(entry, line)
}

/** Learns who holds the key, once for each holder. */
async function meetHolder(entry: Entry, line: Line): Promise<void> {
  const name = line.find(({ holds }) => holds)?.nodes[0]?.name
  if (name === undefined || name === entry.holder?.name) return
  const { client } = entry.session as LockSession
  try {
    const { data, stat } = await client.getData(`${entry.keyPath}/${name}`)
    const { label, waitedMs = 0 } = nodeDataOf(data)
    entry.holder = { name, label, sinceMs: stat.ctimeMs + waitedMs }
  } catch (error) {
    if (!isWire(error, 'NoNode')) throw error
  }
}

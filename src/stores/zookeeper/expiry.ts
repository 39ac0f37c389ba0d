import { lookForHolder } from './answers.ts'
import type { Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { nodeData } from './format.ts'
import { guard } from './guard.ts'
import { findId } from './line.ts'
import type { LockSession } from './sessions.ts'
import { isWire } from './wire/errors.ts'

type Client = LockSession['client']

/** A claim's alarm: its deadline, or the time from which a hold is watched over and a wait wants to know for whom. */
export function ring(desk: Desk, entry: Entry, nowMs: number): void {
  if (nowMs >= entry.deadlineMs) {
    entry.inTurn(() => expire(desk, entry)).catch(() => {})
    return
  }
  desk.wakeAt(entry, entry.deadlineMs)
  if (entry.holds) guard(desk, entry)
  // To name the holder is a courtesy, which an outage may prevent.
  else if (entry.phase === 'waiting' && entry.session?.isUsable) lookForHolder(desk, entry).catch(() => {})
}

/**
 * The claim's own time is over while its session goes on, so that we have to delete its node ourselves. What cannot be
 * deleted now is deleted when the connection is back, or by the ensemble together with the session.
 */
export async function expire(desk: Desk, entry: Entry): Promise<void> {
  // What was forgotten has no node: one that bears its id belongs to the same claim, made anew.
  if (desk.find(entry.claim) !== entry) return
  if (desk.runtime.nowMs() < entry.deadlineMs && entry.phase !== 'over') return
  const { key, id, lockDelayMs } = entry.claim
  if (entry.holds) desk.tell({ kind: 'lost', key, id, cause: 'expired' })
  if (entry.holds && lockDelayMs > 0) {
    await keepClosed(desk, entry)
    return
  }
  entry.phase = 'over'
  if (entry.session === null) {
    desk.forget(entry)
    return
  }
  if (!entry.session.isUsable) return
  if (entry.node === null) await findNode(desk, entry)
  await removeNode(entry)
  desk.forget(entry)
}

/** The node stays for the lock delay, and says so. */
async function keepClosed(desk: Desk, entry: Entry): Promise<void> {
  const { claim } = entry
  entry.phase = 'closed'
  entry.deadlineMs += claim.lockDelayMs
  desk.wakeAt(entry, entry.deadlineMs)
  const { client } = entry.session as LockSession
  const data = nodeData(claim, { closedMs: claim.lockDelayMs })
  await client.setData((entry.node as OwnNode).path, data)
}

/** The node of a claim whose making was not answered, if there is one. */
export async function findNode(desk: Desk, entry: Entry): Promise<void> {
  const line = await desk.look(entry.session as LockSession, entry.keyPath)
  const found = line === null ? undefined : findId(line, entry.claim.id)
  if (found === undefined) return
  const { name } = found.node
  desk.stand(entry, { name, path: `${entry.keyPath}/${name}`, place: { seq: 0, founder: 0n } }, false)
}

/** Deletes the claim's node, and the container with it if nobody else is there. False when there was none. */
export async function removeNode(entry: Entry): Promise<boolean> {
  const { node, keyPath } = entry
  if (node === null) return false
  const { client } = entry.session as LockSession
  const deleted =
    (entry.alone ? await deleteWith(client, node.path, keyPath) : null) ??
    (await deleteOne(client, node.path))
  entry.node = null
  return deleted
}

/** Null when somebody else has come, so that the container has to stay. */
async function deleteWith(client: Client, path: string, container: string): Promise<boolean | null> {
  const result = await client.multi([
    { kind: 'delete', path },
    { kind: 'delete', path: container },
  ])
  if (result.ok) return true
  if (isWire(result.error, 'NotEmpty')) return null
  if (isWire(result.error, 'NoNode')) return false
  throw result.error
}

async function deleteOne(client: Client, path: string): Promise<boolean> {
  try {
    await client.delete(path)
    return true
  } catch (error) {
    if (isWire(error, 'NoNode')) return false
    throw error
  }
}

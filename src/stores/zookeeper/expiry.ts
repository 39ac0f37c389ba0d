import type { Desk } from './context.ts'
import type { Entry } from './local-claims.ts'
import { guard } from './hold.ts'
import type { LockSession } from './client/lock-session.ts'
import { move } from './places.ts'
import { isWire } from './client/errors.ts'
import type { Step } from './client/operations.ts'

type Client = LockSession['client']

const NOTHING = Buffer.alloc(0)

/** A claim's alarm: its deadline, or the time from which a hold is watched over. */
export function ring(desk: Desk, entry: Entry, nowMs: number): void {
  if (nowMs >= entry.deadlineMs || entry.phase === 'over') {
    entry.inTurn(() => expire(desk, entry)).catch(() => {})
    return
  }
  desk.wakeAt(entry, entry.deadlineMs)
  guard(desk, entry)
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
  await end(desk, entry)
}

/** Takes the claim out of ZooKeeper, whatever is left of it there. */
export async function end(desk: Desk, entry: Entry): Promise<void> {
  if (desk.find(entry.claim) !== entry) return
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
  await move(desk, entry, entry.session as LockSession, { closedMs: claim.lockDelayMs })
}

/** The node of a claim whose making was not answered, if there is one. */
export async function findNode(desk: Desk, entry: Entry): Promise<void> {
  const queue = await desk.look(entry.session as LockSession, entry.keyPath)
  const found = queue?.findId(entry.claim.id)
  if (found === undefined) return
  const { name } = found.node
  desk.stand(entry, { name, path: `${entry.keyPath}/${name}`, place: { seq: 0, founder: 0n } }, false)
}

/** Deletes the claim's node, and the container with it if nobody else is there. False when there was none. */
export async function removeNode(entry: Entry, held = false): Promise<boolean> {
  const { node, keyPath, claim } = entry
  if (node === null) return false
  const session = entry.session as LockSession
  const { client } = session
  // Only where nobody can share the place with it does its end tell that the place is free.
  const ends = held && claim.owner === null
  const deleted =
    (entry.alone
      ? await deleteAll(client, [
          { kind: 'delete', path: node.path },
          { kind: 'delete', path: keyPath },
        ])
      : null) ??
    (ends ? await deleteAll(client, farewell(node.path)) : null) ??
    (await deleteOne(client, node.path))
  entry.node = null
  session.snapshotOf(keyPath)?.ended(node.name)
  return deleted
}

/** A last change before the end: who watches the node is told of that one, and so knows that it held the key. */
function farewell(path: string): readonly Step[] {
  return [
    { kind: 'set', path, data: NOTHING },
    { kind: 'delete', path },
  ]
}

/** Null when somebody else has come, so that the container has to stay. */
async function deleteAll(client: Client, steps: readonly Step[]): Promise<boolean | null> {
  const result = await client.multi(steps)
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

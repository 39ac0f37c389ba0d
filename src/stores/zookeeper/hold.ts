import { type Granted, MOST_TOLD_OF_CONTENTION, SPARE_TOKENS } from '../../model/index.ts'
import { both, type Desk } from './context.ts'
import type { Entry, OwnNode } from './local-claims.ts'
import { keyDataOf, tokenFrom } from './format.ts'
import type { LockSession } from './client/lock-session.ts'
import { move } from './places.ts'
import type { Snapshot } from './snapshot.ts'
import { isWire } from './client/errors.ts'
import type { Stat } from './client/protocol.ts'

/** A shorter wait is not worth a transaction. */
const WORTH_TELLING_MS = 100

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
 * Whether the claim's node is there by the word of a majority: a server that was cut off from the others may believe in a
 * session that is over. Where its end would have been told to us before the answer came, that is not even asked.
 */
export async function prove(entry: Entry, sentAtMs: number): Promise<boolean> {
  const session = entry.session as LockSession
  const { path } = entry.node as OwnNode
  const asked = isWatched(entry) ? NOT_ASKED : session.client.exists(path)
  const [, stat] = await both<unknown, Stat | null | undefined>(session.barrier(), asked)
  const known = stat === undefined && !isWatched(entry) ? await session.client.exists(path) : stat
  const isThere = known !== null
  if (isThere) entry.provenUntilMs = sentAtMs + entry.claim.ttlMs
  return isThere && entry.phase !== 'over'
}

const NOT_ASKED = Promise.resolve(undefined)

function isWatched({ nodeArmed, session, keyPath, node }: Entry): boolean {
  return nodeArmed || session?.snapshotOf(keyPath)?.isArmed((node as OwnNode).name) === true
}

/** Asks to be told when an operator wants something of a holder, and when somebody begins to wait for the key. */
export function guard(desk: Desk, entry: Entry): void {
  if (!entry.holds || entry.node === null || entry.isMoving || !entry.session?.isUsable) return
  if (!entry.nodeWatched) void watchNode(desk, entry, entry.node)
  if (!entry.asksWatched) void watchAsks(desk, entry, entry.session)
  if (!entry.contended) void watchArrivals(entry, entry.session)
}

async function watchNode(desk: Desk, entry: Entry, { path }: OwnNode): Promise<void> {
  const { client } = entry.session as LockSession
  entry.nodeWatched = true
  try {
    await client.attend(path, () => nodeEvent(desk, entry, path))
    entry.nodeArmed = entry.nodeWatched
  } catch (error) {
    if (entry.node?.path !== path) return
    entry.nodeWatched = false
    if (isWire(error, 'NoNode') && entry.holds && !entry.isMoving) desk.lose(entry, 'evicted')
  }
}

/** A node that is gone may have been made anew, so it is asked for again. */
function nodeEvent(desk: Desk, entry: Entry, path: string): void {
  if (entry.node?.path !== path) return
  entry.nodeWatched = false
  entry.nodeArmed = false
  guard(desk, entry)
}

/** An operator writes to the container of the key: its nodes are changed by their own processes only. */
async function watchAsks(desk: Desk, entry: Entry, session: LockSession): Promise<void> {
  const { keyPath } = entry
  entry.asksWatched = true
  session.snapshotFor(entry)
  // The container outlives its claims: one watch is enough for all of them, or they would add up.
  const known = session.keysWatched.has(keyPath)
  session.keysWatched.add(keyPath)
  const watcher = (): void => {
    session.keysWatched.delete(keyPath)
    for (const each of session.snapshotOf(keyPath)?.users ?? []) {
      each.asksWatched = false
      guard(each.desk, each)
    }
  }
  try {
    const { data } = await session.client.getData(keyPath, known ? undefined : watcher)
    noteAsks(desk, entry, keyDataOf(data).asks[(entry.node as OwnNode).place.seq])
  } catch {
    entry.asksWatched = false
    if (!known) session.keysWatched.delete(keyPath)
  }
}

function noteAsks(desk: Desk, entry: Entry, asks = 0): void {
  if (asks <= entry.asks || !entry.holds) return
  entry.asks = asks
  const { key, id } = entry.claim
  desk.tell({ kind: 'revoked', key, id })
}

/** Told once that others wait; looked for again when a renewal finds that nobody does. The first that asks tells the others. */
async function watchArrivals(entry: Entry, session: LockSession): Promise<void> {
  const snapshot = session.snapshotFor(entry)
  if ((await snapshot.watchArrivals()) && snapshot.queue.isContended) tellContended(snapshot)
}

/** Somebody came, or came and went again. */
export function arrived(desk: Desk, entry: Entry, atMs: number): void {
  if (desk.runtime.nowMs() >= atMs) guard(desk, entry)
  else desk.wakeAt(entry, Math.min(atMs, entry.deadlineMs))
}

function tellContended({ users }: Snapshot): void {
  let told = 0
  for (const entry of users) {
    if (!entry.holds || entry.contended) continue
    if (told++ === MOST_TOLD_OF_CONTENTION) return
    entry.contended = true
    entry.alone = false
    const { key, id } = entry.claim
    entry.desk.tell({ kind: 'contended', key, id })
  }
}

/** A hold that lasts says since when it lasts: the node was made when the claim came. */
export function noteSince(desk: Desk, entry: Entry): void {
  if (entry.heldAtMs - entry.madeAtMs < WORTH_TELLING_MS) return
  const note = async (): Promise<void> => {
    if (entry.phase !== 'held' || !entry.session?.isUsable) return
    await move(desk, entry, entry.session)
    guard(desk, entry)
  }
  // Nothing depends on it.
  entry.inTurn(note).catch(() => {})
}

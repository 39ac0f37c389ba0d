import type { Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { keyDataOf } from './format.ts'
import { isContended } from './line.ts'
import type { LockSession } from './sessions.ts'
import { isWire } from './wire/errors.ts'
import type { WatchEvent } from './wire/protocol.ts'

/** Asks to be told when an operator wants something of a holder, and when somebody begins to wait for the key. */
export function guard(desk: Desk, entry: Entry): void {
  if (!entry.holds || entry.node === null || entry.isMoving || !entry.session?.isUsable) return
  if (!entry.nodeWatched) void watchNode(desk, entry, entry.node)
  if (!entry.asksWatched) void watchAsks(desk, entry, entry.session)
  if (!entry.lineWatched && !entry.contended) void watchLine(desk, entry)
}

async function watchNode(desk: Desk, entry: Entry, { path }: OwnNode): Promise<void> {
  const { client } = entry.session as LockSession
  entry.nodeWatched = true
  try {
    await client.attend(path, (event) => nodeEvent(desk, entry, path, event))
  } catch (error) {
    if (entry.node?.path === path) entry.nodeWatched = false
    if (isWire(error, 'NoNode')) gone(desk, entry, path)
  }
}

function nodeEvent(desk: Desk, entry: Entry, path: string, { kind }: WatchEvent): void {
  if (entry.node?.path !== path) return
  entry.nodeWatched = false
  if (kind === 'deleted') gone(desk, entry, path)
  else guard(desk, entry)
}

/** A claim that moves has another node, or will have. */
function gone(desk: Desk, entry: Entry, path: string): void {
  if (entry.holds && !entry.isMoving && entry.node?.path === path) desk.lose(entry, 'evicted')
}

/** An operator writes to the container of the key: its nodes are changed by their own processes only. */
async function watchAsks(desk: Desk, entry: Entry, session: LockSession): Promise<void> {
  const { keyPath } = entry
  entry.asksWatched = true
  // The container outlives its claims: one watch is enough for all of them, or they would add up.
  const known = session.keysWatched.has(keyPath)
  session.keysWatched.add(keyPath)
  const watcher = (): void => {
    session.keysWatched.delete(keyPath)
    for (const each of session.entries) {
      if (each.keyPath !== keyPath) continue
      each.asksWatched = false
      guard(desk, each)
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

/** Told once that others wait; looked for again when a renewal finds that nobody does. */
async function watchLine(desk: Desk, entry: Entry): Promise<void> {
  const { client } = entry.session as LockSession
  entry.lineWatched = true
  try {
    const line = await desk.lineAt(client, entry.keyPath, () => {
      entry.lineWatched = false
      if (entry.holds && !entry.contended) void lineChanged(desk, entry)
    })
    if (line !== null && isContended(line)) noteContended(desk, entry)
  } catch {
    entry.lineWatched = false
  }
}

/** Somebody came, or came and went again. */
async function lineChanged(desk: Desk, entry: Entry): Promise<void> {
  try {
    const line = await desk.lineAt((entry.session as LockSession).client, entry.keyPath)
    if (line !== null && isContended(line)) noteContended(desk, entry)
    else guard(desk, entry)
  } catch {
    // The next renewal tells.
  }
}

function noteContended(desk: Desk, entry: Entry): void {
  if (!entry.holds || entry.contended) return
  entry.contended = true
  entry.alone = false
  const { key, id } = entry.claim
  desk.tell({ kind: 'contended', key, id })
}

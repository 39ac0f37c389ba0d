import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import type { Desk } from './context.ts'
import type { Entry } from './local-claims.ts'
import { expire, findNode, removeNode } from './expiry.ts'
import { nodeDataOf } from './format.ts'
import { isWire } from './client/errors.ts'

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

export function releaseOne(desk: Desk, claim: Claim): Promise<ReleaseAnswer> {
  const entry = desk.find(claim)
  if (entry === undefined) return releaseStrange(desk, claim)
  // While this had to wait, the claim may have expired and been made anew.
  const isReplaced = () => ![entry, undefined].includes(desk.find(claim))
  return entry.inTurn(() => (isReplaced() ? releaseOne(desk, claim) : release(desk, entry)))
}

async function release(desk: Desk, entry: Entry): Promise<ReleaseAnswer> {
  if (desk.runtime.nowMs() >= entry.deadlineMs) await expire(desk, entry)
  const { session } = entry
  if (session === null || entry.isOver) return ABSENT
  const connecting = session.ready()
  if (connecting !== null) await connecting
  const held = entry.holds
  entry.phase = 'leaving'
  if (entry.node === null) await findNode(desk, entry)
  if (entry.contended) desk.noteContended(entry.keyPath)
  const removed = await removeNode(entry, held)
  desk.forget(entry)
  return removed ? RELEASED : ABSENT
}

/** A claim that another process made, or this one through another connection. */
async function releaseStrange(desk: Desk, { key, id }: Claim): Promise<ReleaseAnswer> {
  const session = await desk.sessions.any()
  const keyPath = desk.paths.lock(key)
  const found = (await desk.look(session, keyPath))?.findId(id)
  if (found === undefined) return ABSENT
  const path = `${keyPath}/${found.node.name}`
  try {
    const { data } = await session.client.getData(path)
    if (nodeDataOf(data).closedMs !== undefined) return ABSENT
    await session.client.delete(path)
    return RELEASED
  } catch (error) {
    if (isWire(error, 'NoNode')) return ABSENT
    throw error
  }
}

import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import { findClaim, type StoreContext } from './context.ts'
import { deleteNode, expire, findNode, removeNode } from './expiry.ts'
import type { LocalClaim } from './local-claims.ts'
import { readNode, readQueue } from './read.ts'

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }
/** More keys than this are forgotten together: a wrong guess costs one refused request. */
const MOST_CONTENDED = 1000

export function releaseOne(context: StoreContext, claim: Claim): Promise<ReleaseAnswer> {
  const local = findClaim(context, claim)
  if (local === undefined) return releaseUnknown(context, claim)
  // While this release waited, the claim may have expired and been made anew.
  const isReplaced = () => ![local, undefined].includes(findClaim(context, claim))
  return local.inTurn(() => (isReplaced() ? releaseOne(context, claim) : release(local)))
}

async function release(local: LocalClaim): Promise<ReleaseAnswer> {
  const { runtime, contendedKeys } = local.context
  if (runtime.nowMs() >= local.deadlineMs) await expire(local)
  const { session } = local
  if (session === null || local.isOver) return ABSENT
  const connecting = session.ready()
  if (connecting !== null) await connecting
  const held = local.holds
  local.phase = 'leaving'
  if (local.node === null) await findNode(local)
  if (local.contended) {
    if (contendedKeys.size >= MOST_CONTENDED) contendedKeys.clear()
    contendedKeys.add(local.keyPath)
  }
  const removed = await removeNode(local, held)
  local.forget()
  return removed ? RELEASED : ABSENT
}

/** Releases a claim that another process made, or this one through another connection. */
async function releaseUnknown(context: StoreContext, { key, id }: Claim): Promise<ReleaseAnswer> {
  const session = await context.sessions.any()
  const keyPath = context.paths.lock(key)
  const found = (await readQueue(context, session, keyPath))?.findId(id)
  if (found === undefined) return ABSENT
  const path = `${keyPath}/${found.node.name}`
  const read = await readNode(session.client, path)
  if (read === null || read.data.closedMs !== undefined) return ABSENT
  return (await deleteNode(session.client, path)) ? RELEASED : ABSENT
}

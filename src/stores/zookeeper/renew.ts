import type { Claim, RenewAnswer } from '../../model/index.ts'
import { recover } from './acquire.ts'
import type { LockSession } from './client/lock-session.ts'
import { findClaim, type StoreContext } from './context.ts'
import { expire } from './expiry.ts'
import { prove } from './hold.ts'
import { enterClaim, type LocalClaim, type OwnNode } from './local-claims.ts'
import { lifeOf, outlive, remake } from './nodes.ts'
import { tellGranted, watchHold } from './notifications.ts'
import { positionOf } from './queue.ts'
import { readQueue } from './read.ts'
import type { QueueSnapshot } from './snapshot.ts'

const LOST: RenewAnswer = { kind: 'lost' }
/** A shorter wait is not worth a transaction. */
const WORTH_TELLING_MS = 100

export function renewOne(context: StoreContext, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const local = findClaim(context, claim)
  if (local === undefined) return renewUnknown(context, claim, sentAtMs)
  return local.inTurn(() => renew(local, claim, sentAtMs))
}

/** One transaction proves all renewals of a turn; a waiter needs no more, whatever the length of the queue. */
async function renew(local: LocalClaim, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const { runtime, sessions } = local.context
  if (runtime.nowMs() >= local.deadlineMs) await expire(local)
  if (local.isOver) return LOST
  const session = local.session as LockSession
  const connecting = session.ready()
  if (connecting !== null) await connecting
  if (local.node === null || local.phase === 'asked') return renewFound(local, sentAtMs)
  const life = lifeOf(claim)
  if (local.holds && !sessions.suffices(session, life) && !(await outlive(local, life))) return lost(local)
  if (!(await prove(local, sentAtMs))) return renewFound(local, sentAtMs)
  const snapshot = (local.session as LockSession).snapshotFor(local)
  const waits = local.phase === 'waiting'
  if (waits && !isFirst(local, snapshot)) return stillWaiting(local, sentAtMs)
  const isConfirmed = local.phase !== 'held'
  local.hold('held', sentAtMs + claim.ttlMs)
  local.contended = await snapshot.learnContended(local)
  // The renewal came before the wake-up of the waiter.
  if (waits && local.holds) tellGranted(local, sentAtMs, claim.ttlMs)
  watchHold(local)
  if (isConfirmed) noteSince(local)
  return local.holds ? { kind: 'renewed', contended: local.contended } : LOST
}

/** True if the waiter certainly holds by now. */
function isFirst({ node }: LocalClaim, { queue, isDoubtful }: QueueSnapshot): boolean {
  const position = queue.find((node as OwnNode).name)
  return position !== undefined && !isDoubtful && queue.holds(position)
}

function stillWaiting(local: LocalClaim, sentAtMs: number): RenewAnswer {
  local.wait(sentAtMs + local.claim.ttlMs)
  const session = local.session as LockSession
  const position = positionOf(local, session.snapshotFor(local))
  return { kind: 'waiting', position, storeTimeMs: session.nowMs() }
}

function lost(local: LocalClaim): RenewAnswer {
  local.forget()
  return LOST
}

/** Renews a claim whose creation was not answered, or whose node is not at its known path. */
async function renewFound(local: LocalClaim, sentAtMs: number): Promise<RenewAnswer> {
  if (local.isOver) return LOST
  const answer = await recover(local, sentAtMs)
  if (answer === null || answer.kind === 'refused') return lost(local)
  if (local.phase === 'waiting') return stillWaiting(local, sentAtMs)
  return local.holds ? { kind: 'renewed', contended: local.contended } : LOST
}

/** Renews a claim that another process made, or this one through another connection. */
async function renewUnknown(context: StoreContext, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const { paths, sessions } = context
  const queue = await readQueue(context, await sessions.any(), paths.lock(claim.key))
  if (queue?.findId(claim.id) === undefined) return LOST
  const local = enterClaim(context, claim, sentAtMs)
  return local.inTurn(async () => {
    local.attach(await sessions.forLife(lifeOf(claim), local.bytes))
    return renewFound(local, sentAtMs)
  })
}

/** Writes the start of a lasting hold into its node, whose own time is that of the attempt. */
function noteSince(local: LocalClaim): void {
  if (local.heldAtMs - local.madeAtMs < WORTH_TELLING_MS) return
  const note = async (): Promise<void> => {
    if (local.phase !== 'held' || !local.session?.isUsable) return
    await remake(local, local.session)
    watchHold(local)
  }
  // Only operators read it.
  local.inTurn(note).catch(() => {})
}

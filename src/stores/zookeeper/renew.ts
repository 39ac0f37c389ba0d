import type { Claim, RenewAnswer } from '../../model/index.ts'
import { recover } from './acquire.ts'
import type { Desk } from './context.ts'
import type { Entry, OwnNode } from './local-claims.ts'
import { expire } from './expiry.ts'
import { guard, noteSince, prove } from './hold.ts'
import type { LockSession } from './client/lock-session.ts'
import { lifeOf, outlive } from './places.ts'
import type { Snapshot } from './snapshot.ts'
import { positionOf, tellGranted } from './queue.ts'

const LOST: RenewAnswer = { kind: 'lost' }

export function renewOne(desk: Desk, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const entry = desk.find(claim)
  if (entry === undefined) return renewStrange(desk, claim, sentAtMs)
  return entry.inTurn(() => renew(desk, entry, claim, sentAtMs))
}

/** All renewals of a turn are proven by one transaction; those of waiters need no more, whatever stands in the queue. */
async function renew(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  if (desk.runtime.nowMs() >= entry.deadlineMs) await expire(desk, entry)
  if (entry.isOver) return LOST
  const session = entry.session as LockSession
  const connecting = session.ready()
  if (connecting !== null) await connecting
  if (entry.node === null || entry.phase === 'asked') return found(desk, entry, sentAtMs)
  const life = lifeOf(claim)
  if (entry.holds && !desk.sessions.suffices(session, life) && !(await outlive(desk, entry, life)))
    return lost(desk, entry)
  if (!(await prove(entry, sentAtMs))) return found(desk, entry, sentAtMs)
  const snapshot = (entry.session as LockSession).snapshotFor(entry)
  const waits = entry.phase === 'waiting'
  if (waits && !isFirst(entry, snapshot)) return stillWaiting(desk, entry, sentAtMs)
  const isConfirmed = entry.phase !== 'held'
  desk.hold(entry, 'held', sentAtMs + claim.ttlMs)
  entry.contended = await snapshot.learnContended(entry)
  // The renewal was quicker than the word that nobody stands before it any more.
  if (waits && entry.holds) tellGranted(desk, entry, sentAtMs, claim.ttlMs)
  guard(desk, entry)
  if (isConfirmed) noteSince(desk, entry)
  return entry.holds ? { kind: 'renewed', contended: entry.contended } : LOST
}

/** Whether nobody stands before a waiter any more, for certain. */
function isFirst({ node }: Entry, { queue, isDoubtful }: Snapshot): boolean {
  const place = queue.find((node as OwnNode).name)
  return place !== undefined && !isDoubtful && queue.holds(place)
}

function stillWaiting(desk: Desk, entry: Entry, sentAtMs: number): RenewAnswer {
  desk.wait(entry, sentAtMs + entry.claim.ttlMs)
  const snapshot = (entry.session as LockSession).snapshotFor(entry)
  return { kind: 'waiting', position: positionOf(entry, snapshot), storeTimeMs: desk.runtime.nowMs() }
}

function lost(desk: Desk, entry: Entry): RenewAnswer {
  desk.forget(entry)
  return LOST
}

/** A claim whose making was not answered, or whose node is not where it was. */
async function found(desk: Desk, entry: Entry, sentAtMs: number): Promise<RenewAnswer> {
  if (entry.isOver) return LOST
  const answer = await recover(desk, entry, sentAtMs)
  if (answer === null || answer.kind === 'refused') return lost(desk, entry)
  if (entry.phase === 'waiting') return stillWaiting(desk, entry, sentAtMs)
  return entry.holds ? { kind: 'renewed', contended: entry.contended } : LOST
}

/** A claim that another process made, or this one through another connection. */
async function renewStrange(desk: Desk, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const queue = await desk.look(await desk.sessions.any(), desk.paths.lock(claim.key))
  if (queue?.findId(claim.id) === undefined) return LOST
  const entry = desk.enter(claim, sentAtMs)
  return entry.inTurn(async () => {
    desk.attach(entry, await desk.sessions.forLife(lifeOf(claim), entry.bytes))
    return found(desk, entry, sentAtMs)
  })
}

import type { Claim, RenewAnswer } from '../../model/index.ts'
import { both, type Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { expire } from './expiry.ts'
import { guard } from './guard.ts'
import { findId, findName, isContended, type Line } from './line.ts'
import { lifeOf, modeOfNode, move } from './places.ts'
import type { LockSession } from './sessions.ts'
import { takeOver } from './settle.ts'
import { tellGranted } from './waiting.ts'
import { isWire } from './wire/errors.ts'

const LOST: RenewAnswer = { kind: 'lost' }

export function renewOne(desk: Desk, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const entry = desk.find(claim)
  if (entry === undefined) return renewStrange(desk, claim, sentAtMs)
  return entry.inTurn(() => renew(desk, entry, claim, sentAtMs))
}

async function renew(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  if (desk.runtime.nowMs() >= entry.deadlineMs) await expire(desk, entry)
  const session = entry.session as LockSession
  if (entry.phase === 'closed' || entry.phase === 'over') return LOST
  const connecting = session.ready()
  if (connecting !== null) await connecting
  if (entry.node === null) return found(desk, entry, sentAtMs)
  const life = lifeOf(claim)
  if (!desk.sessions.suffices(session, life)) {
    const larger = await desk.sessions.forLife(life)
    if (!(await move(desk, entry, larger, modeOfNode(entry)))) return lost(desk, entry)
  }
  const line = await prove(desk, entry)
  if (line === null) return lost(desk, entry)
  entry.provenUntilMs = sentAtMs + claim.ttlMs
  const waits = entry.phase === 'waiting'
  if (waits && !findName(line, entry.node.name)?.holds) {
    desk.wait(entry, sentAtMs + claim.ttlMs)
  } else {
    desk.hold(entry, 'held', sentAtMs + claim.ttlMs)
    // The renewal was quicker than the word that nobody stands before it any more.
    if (waits) tellGranted(desk, entry, sentAtMs, claim.ttlMs)
  }
  guard(desk, entry)
  return { kind: 'renewed', contended: entry.contended }
}

/**
 * The line, if the claim's node stands in it by the word of a majority: a server that was cut off from the others may
 * believe in a session that is over. Null when the node is gone.
 */
export async function prove(desk: Desk, entry: Entry): Promise<Line | null> {
  const session = entry.session as LockSession
  // Whoever takes up an offer tells since when it holds, which proves as much.
  const proof = entry.phase === 'offered' ? move(desk, entry, session, modeOfNode(entry)) : session.barrier()
  try {
    const [, line] = await both(proof, desk.lineAt(session.client, entry.keyPath))
    if (line === null || !standsIn(line, entry)) return null
    entry.contended = isContended(line)
    entry.alone = line.length === 1 && line[0]?.nodes.length === 1
    return line
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

/** Whether the claim has its node in the line: the one that we know, or one that was made anew without our hearing of it. */
function standsIn(line: Line, entry: Entry): boolean {
  const { name, place } = entry.node as OwnNode
  if (findName(line, name) !== undefined) return true
  const same = findId(line, entry.claim.id)
  if (same?.place.seq !== place.seq) return false
  const { node } = same
  entry.node = { name: node.name, path: `${entry.keyPath}/${node.name}`, place }
  entry.nodeWatched = false
  return true
}

function lost(desk: Desk, entry: Entry): RenewAnswer {
  desk.forget(entry)
  return LOST
}

/** A claim whose making was not answered. */
async function found(desk: Desk, entry: Entry, sentAtMs: number): Promise<RenewAnswer> {
  const line = await desk.look(entry.session as LockSession, entry.keyPath)
  const same = line === null ? undefined : findId(line, entry.claim.id)
  const answer = same === undefined ? null : await takeOver(desk, entry, same, sentAtMs)
  if (answer !== null && answer.kind !== 'refused') return { kind: 'renewed', contended: entry.contended }
  return lost(desk, entry)
}

/** A claim that another process made, or this one through another connection. */
async function renewStrange(desk: Desk, claim: Claim, sentAtMs: number): Promise<RenewAnswer> {
  const line = await desk.look(await desk.sessions.any(), desk.paths.lock(claim.key))
  if (line === null || findId(line, claim.id) === undefined) return LOST
  const entry = desk.enter(claim, sentAtMs)
  return entry.inTurn(async () => {
    desk.attach(entry, await desk.sessions.forLife(lifeOf(claim)))
    return found(desk, entry, sentAtMs)
  })
}

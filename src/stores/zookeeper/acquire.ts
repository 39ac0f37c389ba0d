import { StoreError, UnsupportedError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, covers, EMPTY, mismatch, refused } from '../../model/index.ts'
import { both, type Desk } from './context.ts'
import type { Entry, OwnNode } from './local-claims.ts'
import { expire, removeNode } from './expiry.ts'
import { formatRefusal, nodeData, requireKnown } from './format.ts'
import { granted, prove } from './hold.ts'
import { readHolder } from './holder.ts'
import type { LockSession } from './client/lock-session.ts'
import { nodeStem, parseName } from './names.ts'
import { downgrade, join, lifeOf, modeOfNode, outlive, takeOver } from './places.ts'
import type { Queue } from './node-queue.ts'
import { blockedBy, positionOf, settle } from './queue.ts'
import { isWire } from './client/errors.ts'

/** A key that comes and goes under our hands is tried that often. */
const ROUNDS = 20
const NOTHING = Buffer.alloc(0)

export function attemptOne(desk: Desk, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const never = mismatch(EMPTY, claim)
  if (never !== null) return Promise.resolve(never)
  if (claim.replaces !== null && claim.replaces !== claim.id) {
    const why = 'a node of ZooKeeper belongs to the session that made it: a lease cannot change its process'
    return Promise.reject(new UnsupportedError(why))
  }
  const known = desk.find(claim)
  if (known !== undefined) return known.inTurn(() => askAgain(desk, known, claim, sentAtMs))
  if (claim.replaces !== null) return Promise.resolve(refused('absent', 'the lease is no longer held'))
  return askAnew(desk, claim, sentAtMs)
}

function askAnew(desk: Desk, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const entry = desk.enter(claim, sentAtMs)
  return entry.inTurn(() => ask(desk, entry, sentAtMs))
}

async function ask(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer> {
  try {
    const found = desk.sessions.forLife(lifeOf(entry.claim), entry.bytes)
    desk.attach(entry, found instanceof Promise ? await found : found)
    // To connect took time that the claim need not pay for.
    if (found instanceof Promise) desk.prolong(entry)
  } catch (error) {
    // Nothing was sent.
    desk.forget(entry)
    throw error
  }
  // Where others were a moment ago there is a queue, most likely.
  let crowded = desk.wasContended(entry.keyPath)
  for (let round = 0; round < ROUNDS; round++) {
    if (!crowded && (await openKey(desk, entry))) return grant(desk, entry, sentAtMs)
    crowded = false
    const answer = await joinQueue(desk, entry, sentAtMs)
    if (answer !== null) return answer
  }
  throw new StoreError('the key comes and goes too quickly to be claimed')
}

/** The whole claim of a key that nobody uses: its container and our node in it, in one transaction. */
async function openKey(desk: Desk, entry: Entry): Promise<boolean> {
  const { claim, keyPath } = entry
  const { client } = entry.session as LockSession
  const { acl } = desk
  const result = await client.multi([
    { kind: 'create', path: keyPath, data: NOTHING, node: 'container', acl },
    {
      kind: 'create',
      path: `${keyPath}/${nodeStem(claim, null)}`,
      data: nodeData(claim),
      node: 'ephemeral sequential',
      acl,
    },
  ])
  if (result.ok) {
    const [container, node] = result.done
    const path = node?.path as string
    const name = path.slice(keyPath.length + 1)
    // Both were made by one transaction, and only the container tells its number.
    const founder = container?.stat?.czxid as bigint
    if (container?.stat != null) desk.clock.learn(container.stat.ctimeMs)
    desk.stand(entry, { name, path, place: { seq: parseName(name).seq, founder } }, true)
    return true
  }
  if (isWire(result.error, 'NodeExists')) return false
  if (isWire(result.error, 'NoNode')) {
    await desk.sessions.prepareAgain(entry.session as LockSession)
    return false
  }
  throw wireRefusal(result.error)
}

/** Null when the key was given up meanwhile, so that it has to be opened. */
async function joinQueue(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | null> {
  const { claim } = entry
  // A claim that would not stay looks first: a node that comes and goes would be in the way of others for nothing.
  if (!claim.queue || claim.owner !== null) {
    const answer = await receive(desk, entry, sentAtMs)
    if (answer !== 'join') return answer
  }
  if (!(await makeNode(desk, entry, sentAtMs))) return null
  const { queue } = (entry.session as LockSession).snapshotFor(entry)
  const refusal = formatRefusal(queue)
  if (refusal !== null) return withdraw(desk, entry, refusal)
  const twin = queue.findId(claim.id)
  if (twin !== undefined && twin.node.name !== entry.node?.name) {
    await removeNode(entry)
    return resume(desk, entry, twin, queue, sentAtMs)
  }
  return answerOf(desk, entry, sentAtMs)
}

/** What the key's queue has for a claim that is not in it: an answer, null when nobody uses the key, or that it may join. */
async function receive(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | 'join' | null> {
  const { claim } = entry
  const session = entry.session as LockSession
  const queue = await desk.look(session, entry.keyPath)
  if (queue === null) return null
  const refusal = formatRefusal(queue)
  if (refusal !== null) return withdraw(desk, entry, refusal)
  const same = queue.findId(claim.id)
  if (same !== undefined) return resume(desk, entry, same, queue, sentAtMs)
  const reception = queue.receptionOf(claim)
  if (reception.kind === 'join')
    return (await join(desk, entry, session, reception.place)) ? grant(desk, entry, sentAtMs) : null
  if (reception.kind === 'refused') return withdraw(desk, entry, reception)
  if (reception.kind === 'free' || claim.queue) return 'join'
  return withdraw(desk, entry, blockedBy(desk, await readHolder(session, entry.keyPath, queue), 0))
}

/** The claim's node behind all others. False when the key is not in use any more. */
async function makeNode(desk: Desk, entry: Entry, sentAtMs: number): Promise<boolean> {
  const { claim, keyPath } = entry
  const session = entry.session as LockSession
  const snapshot = session.snapshotFor(entry)
  const path = `${keyPath}/${nodeStem(claim, null)}`
  const creating = session.client.create(path, nodeData(claim), 'ephemeral sequential', desk.acl)
  // Both travel together, and the list is carried out after the node was made.
  if (!snapshot.isKnown) snapshot.list().catch(() => {})
  try {
    const made = await creating
    desk.learn(made)
    const name = made.path.slice(keyPath.length + 1)
    const place = { seq: parseName(name).seq, founder: made.stat.czxid }
    desk.stand(entry, { name, path: made.path, place }, false)
    entry.provenUntilMs = sentAtMs + claim.ttlMs
    if (!(await snapshot.include(name))) return false
    entry.alone = snapshot.queue.length === 1
    return true
  } catch (error) {
    if (isWire(error, 'NoNode')) return false
    throw error
  }
}

/** The answer for a claim whose node is known to stand in the queue. Null when it is not there any more. */
async function answerOf(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | null> {
  const session = entry.session as LockSession
  const standing = await settle(desk, entry)
  const snapshot = session.snapshotFor(entry)
  if (standing === 'holds') {
    entry.contended = snapshot.queue.isContended
    snapshot.anchor((entry.node as OwnNode).name)
    return grant(desk, entry, sentAtMs)
  }
  if (standing !== 'waits') return standing
  if (!entry.claim.queue) return withdraw(desk, entry, blockedBy(desk, await snapshot.holder(), 0))
  const blocked = blockedBy(desk, await snapshot.holder(), positionOf(entry, snapshot))
  desk.wait(entry, sentAtMs + entry.claim.ttlMs)
  return blocked
}

/** The claim's node is there already. */
async function resume(
  desk: Desk,
  entry: Entry,
  same: NonNullable<ReturnType<Queue['findId']>>,
  queue: Queue,
  sentAtMs: number,
): Promise<ClaimAnswer | null> {
  const taken = await takeOver(desk, entry, same, queue.holds(same.place))
  if (taken !== 'taken') return taken
  const snapshot = (entry.session as LockSession).snapshotFor(entry)
  return (await snapshot.include(same.node.name)) ? answerOf(desk, entry, sentAtMs) : null
}

/** The same for a claim whose making was not answered, as the leader knows it now. Null when nothing is left of it. */
export async function recover(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | null> {
  const queue = await desk.look(entry.session as LockSession, entry.keyPath)
  const same = queue?.findId(entry.claim.id)
  if (queue === null || same === undefined) return null
  requireKnown(queue)
  return resume(desk, entry, same, queue, sentAtMs)
}

function grant(desk: Desk, entry: Entry, sentAtMs: number): ClaimAnswer {
  desk.hold(entry, 'held', sentAtMs + entry.claim.ttlMs)
  return granted(entry)
}

/** Nothing is left of a claim that does not wait. */
async function withdraw(desk: Desk, entry: Entry, answer: ClaimAnswer): Promise<ClaimAnswer> {
  await removeNode(entry)
  desk.forget(entry)
  return answer
}

/** A claim that was sent before. What it has it keeps, and for its full ttl from now. */
async function askAgain(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  if (desk.runtime.nowMs() >= entry.deadlineMs || entry.phase === 'over') await expire(desk, entry)
  if (entry.phase === 'closed') return blockedBy(desk, null, 0)
  if (entry.phase === 'over') {
    if (desk.find(claim) === entry)
      throw new StoreError('the claim expired, and its node could not be deleted yet')
    return attemptOne(desk, claim, sentAtMs)
  }
  const session = entry.session as LockSession
  await session.ready()
  if (entry.holds && entry.node !== null) return confirm(desk, entry, claim, sentAtMs)
  entry.claim = claim
  const answer =
    entry.phase === 'waiting' && entry.node !== null
      ? await askFromQueue(desk, entry, sentAtMs)
      : await recover(desk, entry, sentAtMs)
  if (answer !== null) return answer
  desk.forget(entry)
  return askAnew(desk, claim, sentAtMs)
}

/** It waits. A list now and then is for the case that a watch was not told of. */
async function askFromQueue(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | null> {
  const snapshot = (entry.session as LockSession).snapshotFor(entry)
  const [isThere] = await both(prove(entry, sentAtMs), snapshot.refresh())
  return isThere ? answerOf(desk, entry, sentAtMs) : recover(desk, entry, sentAtMs)
}

/** It holds the key already. */
async function confirm(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const held = modeOfNode(entry)
  if (!covers(held, claim.mode)) {
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  }
  const session = entry.session as LockSession
  const life = lifeOf(claim)
  if (!desk.sessions.suffices(session, life)) await outlive(desk, entry, life)
  if (!(await prove(entry, sentAtMs))) {
    desk.forget(entry)
    if (claim.replaces !== null) return refused('absent', 'the lease is no longer held')
    return askAnew(desk, claim, sentAtMs)
  }
  if (held.kind === 'exclusive' && claim.mode.kind === 'shared') await becomeReader(desk, entry, claim)
  entry.claim = { ...claim, replaces: null }
  return grant(desk, entry, sentAtMs)
}

/** Claims that share a hold share its mode, so that only one alone can change it. */
async function becomeReader(desk: Desk, entry: Entry, claim: Claim): Promise<void> {
  const session = entry.session as LockSession
  const queue = await desk.queueAt(session.client, entry.keyPath)
  const own = queue?.find((entry.node as OwnNode).name)
  if (own?.nodes.length === 1) await downgrade(desk, entry, session, claim.mode)
}

/** What will not pass by waiting. */
function wireRefusal(error: Error): Error {
  if (isWire(error, 'Unimplemented')) {
    return new UnsupportedError('ZooKeeper 3.5.3 or newer is needed, for containers', { cause: error })
  }
  return error
}

import { StoreError, UnsupportedError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, covers, EMPTY, mismatch, refused } from '../../model/index.ts'
import { both } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import { findClaim, type StoreContext } from './context.ts'
import { expire, removeNode } from './expiry.ts'
import { formatRefusal, nodeData, requireKnown } from './format.ts'
import { grant, prove } from './hold.ts'
import { enterClaim, type LocalClaim, type OwnNode } from './local-claims.ts'
import { nodeStem, parseName } from './names.ts'
import type { FoundClaim, NodeQueue } from './node-queue.ts'
import { downgrade, joinHold, lifeOf, modeOfNode, outlive, takeOver } from './nodes.ts'
import { blockedBy, positionOf, settle } from './queue.ts'
import { listQueue, readHolder, readQueue } from './read.ts'

/** The most attempts at a key that appears and disappears meanwhile. */
export const ROUNDS = 20
const NOTHING = Buffer.alloc(0)

export function attemptOne(context: StoreContext, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const never = mismatch(EMPTY, claim)
  if (never !== null) return Promise.resolve(never)
  if (claim.replaces !== null && claim.replaces !== claim.id) {
    const why = 'a node of ZooKeeper belongs to the session that made it: a lease cannot change its process'
    return Promise.reject(new UnsupportedError(why))
  }
  const known = findClaim(context, claim)
  if (known !== undefined) return known.inTurn(() => reattempt(known, claim, sentAtMs))
  if (claim.replaces !== null) return Promise.resolve(refused('absent', 'the lease is no longer held'))
  return attemptNew(context, claim, sentAtMs)
}

function attemptNew(context: StoreContext, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const local = enterClaim(context, claim, sentAtMs)
  return local.inTurn(() => attempt(local, sentAtMs))
}

async function attempt(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer> {
  const { claim, context, keyPath } = local
  try {
    const found = context.sessions.forLife(lifeOf(claim), local.bytes)
    local.attach(found instanceof Promise ? await found : found)
    // The time to connect does not count against the ttl.
    if (found instanceof Promise) local.deadlineMs = context.runtime.nowMs() + claim.ttlMs
  } catch (error) {
    // Nothing was sent.
    local.forget()
    throw error
  }
  // A key with waiters at our last release most likely still has a queue.
  let hasQueue = context.contendedKeys.delete(keyPath)
  for (let round = 0; round < ROUNDS; round++) {
    if (!hasQueue && (await openKey(local))) return grant(local, sentAtMs)
    hasQueue = false
    const answer = await joinQueue(local, sentAtMs)
    if (answer !== null) return answer
  }
  throw new StoreError('the key comes and goes too quickly to be claimed')
}

/** Claims a free key in one transaction: its container and our node in it. */
async function openKey(local: LocalClaim): Promise<boolean> {
  const { claim, context, keyPath } = local
  const { client } = local.session as LockSession
  const { acl } = context
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
    // One transaction made both, and only the container shows its number.
    const founder = container?.stat?.czxid as bigint
    if (container?.stat != null) context.clock.learn(container.stat.ctimeMs)
    local.stand({ name, path, position: { seq: parseName(name).seq, founder } }, true)
    return true
  }
  if (isWire(result.error, 'NodeExists')) return false
  if (isWire(result.error, 'NoNode')) {
    await context.sessions.prepareAgain(local.session as LockSession)
    return false
  }
  if (isWire(result.error, 'Unimplemented'))
    throw new UnsupportedError('ZooKeeper 3.5.3 or newer is needed, for containers', { cause: result.error })
  throw result.error
}

/** Null when the container disappeared meanwhile, so that the key has to be opened. */
async function joinQueue(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer | null> {
  const { claim } = local
  // A claim that would not wait looks first, because a node that comes and goes would delay others for nothing.
  if (!claim.queue || claim.owner !== null) {
    const answer = await admit(local, sentAtMs)
    if (answer !== 'join') return answer
  }
  if (!(await makeNode(local, sentAtMs))) return null
  const { queue } = (local.session as LockSession).snapshotFor(local)
  const refusal = formatRefusal(queue)
  if (refusal !== null) return withdraw(local, refusal)
  const twin = queue.findId(claim.id)
  if (twin !== undefined && twin.node.name !== local.node?.name) {
    await removeNode(local)
    return resume(local, twin, queue, sentAtMs)
  }
  return answerOf(local, sentAtMs)
}

/** Decides about a claim that is not in the queue: an answer, null when the key is not in use, or `join` to join the queue. */
async function admit(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer | 'join' | null> {
  const { claim, context, keyPath } = local
  const session = local.session as LockSession
  const queue = await readQueue(context, session, keyPath)
  if (queue === null) return null
  const refusal = formatRefusal(queue)
  if (refusal !== null) return withdraw(local, refusal)
  const same = queue.findId(claim.id)
  if (same !== undefined) return resume(local, same, queue, sentAtMs)
  const admission = queue.admissionOf(claim)
  if (admission.kind === 'join')
    return (await joinHold(local, admission.position)) ? grant(local, sentAtMs) : null
  if (admission.kind === 'refused') return withdraw(local, admission)
  if (admission.kind === 'free' || claim.queue) return 'join'
  return withdraw(local, blockedBy(context, await readHolder(session, keyPath, queue), 0))
}

/** Makes the claim's node at the end of the queue; false when the key is no longer in use. */
async function makeNode(local: LocalClaim, sentAtMs: number): Promise<boolean> {
  const { claim, context, keyPath } = local
  const session = local.session as LockSession
  const snapshot = session.snapshotFor(local)
  const path = `${keyPath}/${nodeStem(claim, null)}`
  const creating = session.client.create(path, nodeData(claim), 'ephemeral sequential', context.acl)
  // Both requests travel together, and the server executes the list after the creation.
  if (!snapshot.isKnown) snapshot.list().catch(() => {})
  try {
    const made = await creating
    context.clock.learn(made.stat.ctimeMs)
    const name = made.path.slice(keyPath.length + 1)
    const position = { seq: parseName(name).seq, founder: made.stat.czxid }
    local.stand({ name, path: made.path, position }, false)
    local.provenUntilMs = sentAtMs + claim.ttlMs
    if (!(await snapshot.include(name))) return false
    local.alone = snapshot.queue.length === 1
    return true
  } catch (error) {
    if (isWire(error, 'NoNode')) return false
    throw error
  }
}

/** The answer to a claim whose node is in the queue; null when the node is gone. */
async function answerOf(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer | null> {
  const { claim, context } = local
  const session = local.session as LockSession
  const state = await settle(local)
  const snapshot = session.snapshotFor(local)
  if (state === 'holds') {
    local.contended = snapshot.queue.isContended
    snapshot.anchor((local.node as OwnNode).name)
    return grant(local, sentAtMs)
  }
  if (state !== 'waits') return state
  if (!claim.queue) return withdraw(local, blockedBy(context, await snapshot.holder(), 0))
  const blocked = blockedBy(context, await snapshot.holder(), positionOf(local, snapshot))
  local.wait(sentAtMs + claim.ttlMs)
  return blocked
}

/** Goes on with the claim's existing node; null when it is gone. */
async function resume(
  local: LocalClaim,
  same: FoundClaim,
  queue: NodeQueue,
  sentAtMs: number,
): Promise<ClaimAnswer | null> {
  const taken = await takeOver(local, same, queue.holds(same.position))
  if (taken !== 'taken') return taken
  const snapshot = (local.session as LockSession).snapshotFor(local)
  return (await snapshot.include(same.node.name)) ? answerOf(local, sentAtMs) : null
}

/** Goes on with a claim whose creation was not answered, by the leader's queue; null when it has no node. */
export async function recover(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer | null> {
  const { claim, context, keyPath, session } = local
  const queue = await readQueue(context, session as LockSession, keyPath)
  const same = queue?.findId(claim.id)
  if (queue === null || same === undefined) return null
  requireKnown(queue)
  return resume(local, same, queue, sentAtMs)
}

/** Removes all of a claim that does not wait. */
async function withdraw(local: LocalClaim, answer: ClaimAnswer): Promise<ClaimAnswer> {
  await removeNode(local)
  local.forget()
  return answer
}

/** A claim that is sent again keeps its hold or position, for its full ttl from now. */
async function reattempt(local: LocalClaim, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const { context } = local
  if (context.runtime.nowMs() >= local.deadlineMs || local.phase === 'over') await expire(local)
  if (local.phase === 'closed') return blockedBy(context, null, 0)
  if (local.phase === 'over') {
    if (findClaim(context, claim) === local)
      throw new StoreError('the claim expired, and its node could not be deleted yet')
    return attemptOne(context, claim, sentAtMs)
  }
  const session = local.session as LockSession
  await session.ready()
  if (local.holds && local.node !== null) return confirm(local, claim, sentAtMs)
  local.claim = claim
  const answer =
    local.phase === 'waiting' && local.node !== null
      ? await reattemptWaiting(local, sentAtMs)
      : await recover(local, sentAtMs)
  if (answer !== null) return answer
  local.forget()
  return attemptNew(context, claim, sentAtMs)
}

/** An occasional list covers a lost watch event. */
async function reattemptWaiting(local: LocalClaim, sentAtMs: number): Promise<ClaimAnswer | null> {
  const snapshot = (local.session as LockSession).snapshotFor(local)
  const [isThere] = await both(prove(local, sentAtMs), snapshot.refresh())
  return isThere ? answerOf(local, sentAtMs) : recover(local, sentAtMs)
}

/** Confirms a hold, for another ttl or as a reader. */
async function confirm(local: LocalClaim, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const { context } = local
  const held = modeOfNode(local)
  if (!covers(held, claim.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  const life = lifeOf(claim)
  if (!context.sessions.suffices(local.session as LockSession, life)) await outlive(local, life)
  if (!(await prove(local, sentAtMs))) {
    local.forget()
    if (claim.replaces !== null) return refused('absent', 'the lease is no longer held')
    return attemptNew(context, claim, sentAtMs)
  }
  if (held.kind === 'exclusive' && claim.mode.kind === 'shared') await becomeReader(local, claim)
  local.claim = { ...claim, replaces: null }
  return grant(local, sentAtMs)
}

/** Only a hold of a single claim can change its mode, because claims that share a hold share its mode. */
async function becomeReader(local: LocalClaim, { mode }: Claim): Promise<void> {
  const { client } = local.session as LockSession
  const own = (await listQueue(client, local.keyPath))?.find((local.node as OwnNode).name)
  if (own?.nodes.length === 1) await downgrade(local, mode)
}

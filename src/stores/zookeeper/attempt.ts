import { StoreError, UnsupportedError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, covers, EMPTY, mismatch, refused } from '../../model/index.ts'
import { blockedBy, granted } from './answers.ts'
import { both, type Desk } from './desk.ts'
import type { Entry } from './entry.ts'
import { expire } from './expiry.ts'
import { nodeData } from './format.ts'
import { findId, lineOf, receptionOf } from './line.ts'
import { nodeStem, parseName } from './names.ts'
import { lifeOf, modeOfNode, move } from './places.ts'
import { prove } from './renew.ts'
import type { LockSession } from './sessions.ts'
import { join, settle, takeOver } from './settle.ts'
import { isWire } from './wire/errors.ts'

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
    const found = desk.sessions.forLife(lifeOf(entry.claim))
    desk.attach(entry, found instanceof Promise ? await found : found)
    // To connect took time that the claim need not pay for.
    if (found instanceof Promise) desk.prolong(entry)
  } catch (error) {
    // Nothing was sent.
    desk.forget(entry)
    throw error
  }
  // Where others were a moment ago there is a line, most likely.
  let crowded = desk.crowds.leave(entry.keyPath)
  for (let round = 0; round < ROUNDS; round++) {
    if (!crowded && (await openKey(desk, entry))) {
      desk.hold(entry, 'held', sentAtMs + entry.claim.ttlMs)
      return granted(entry)
    }
    crowded = false
    const answer = await enterLine(desk, entry, sentAtMs)
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
async function enterLine(desk: Desk, entry: Entry, sentAtMs: number): Promise<ClaimAnswer | null> {
  const { claim, keyPath } = entry
  const session = entry.session as LockSession
  // Who would not stay looks first: a node that comes and goes would be in the way of others for nothing.
  if (!claim.queue || claim.owner !== null) {
    const line = await desk.look(session, keyPath)
    if (line === null) return null
    const same = findId(line, claim.id)
    if (same !== undefined) return takeOver(desk, entry, same, sentAtMs)
    const reception = receptionOf(line, claim)
    if (reception.kind === 'join') return join(desk, entry, reception.place, sentAtMs)
    if (reception.kind === 'refused' || (reception.kind === 'busy' && !claim.queue)) {
      const answer = reception.kind === 'refused' ? reception : await blockedBy(desk, entry, line, 0)
      desk.forget(entry)
      return answer
    }
  }
  const { client } = session
  const path = `${keyPath}/${nodeStem(claim, null)}`
  const creating = client.create(path, nodeData(claim), 'ephemeral sequential', desk.acl)
  try {
    const [made, names] = await both(creating, client.list(keyPath))
    desk.learn(made)
    const name = made.path.slice(keyPath.length + 1)
    const place = { seq: parseName(name).seq, founder: made.stat.czxid }
    desk.stand(entry, { name, path: made.path, place }, names.length === 1)
    entry.provenUntilMs = sentAtMs + claim.ttlMs
    return await settle(desk, entry, lineOf(names), sentAtMs)
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

/** A claim that was sent before. What it has it keeps, and for its full ttl from now. */
async function askAgain(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  if (desk.runtime.nowMs() >= entry.deadlineMs || entry.phase === 'over') await expire(desk, entry)
  if (entry.phase === 'closed') return blockedBy(desk, entry, [], 0)
  if (entry.phase === 'over') {
    if (desk.find(claim) === entry)
      throw new StoreError('the claim expired, and its node could not be deleted yet')
    return attemptOne(desk, claim, sentAtMs)
  }
  const session = entry.session as LockSession
  await session.ready()
  if (entry.holds) return confirm(desk, entry, claim, sentAtMs)
  const line = await desk.look(session, entry.keyPath)
  if (entry.phase === 'waiting' && entry.node !== null && line !== null) {
    entry.claim = claim
    const answer = await settle(desk, entry, line, sentAtMs)
    if (answer !== null) return answer
  } else {
    const same = line === null ? undefined : findId(line, claim.id)
    const answer = same === undefined ? null : await takeOver(desk, entry, same, sentAtMs)
    if (answer !== null) return answer
  }
  desk.forget(entry)
  return askAnew(desk, claim, sentAtMs)
}

/** It holds the key already. */
async function confirm(desk: Desk, entry: Entry, claim: Claim, sentAtMs: number): Promise<ClaimAnswer> {
  const held = modeOfNode(entry)
  if (!covers(held, claim.mode)) {
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  }
  const session = entry.session as LockSession
  const life = lifeOf(claim)
  if (!desk.sessions.suffices(session, life)) await move(desk, entry, await desk.sessions.forLife(life), held)
  const line = await prove(desk, entry)
  if (line === null) {
    desk.forget(entry)
    if (claim.replaces !== null) return refused('absent', 'the lease is no longer held')
    return askAnew(desk, claim, sentAtMs)
  }
  const own = line.find(({ nodes }) => nodes.some(({ name }) => name === entry.node?.name))
  // Those who share a hold share its mode.
  if (held.kind === 'exclusive' && claim.mode.kind === 'shared' && own?.nodes.length === 1) {
    await move(desk, entry, entry.session as LockSession, claim.mode)
  }
  entry.claim = { ...claim, replaces: null }
  desk.hold(entry, 'held', sentAtMs + claim.ttlMs)
  return granted(entry)
}

/** What will not pass by waiting. */
function wireRefusal(error: Error): Error {
  if (isWire(error, 'Unimplemented')) {
    return new UnsupportedError('ZooKeeper 3.5.3 or newer is needed, for containers', { cause: error })
  }
  return error
}

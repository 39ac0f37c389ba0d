import { StoreError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, EMPTY, mismatch } from '../../model/index.ts'
import { attemptOne } from './acquire.ts'
import { both, type Desk } from './context.ts'
import type { Entry } from './local-claims.ts'
import { nodeData, requireKnown } from './format.ts'
import { granted } from './hold.ts'
import type { LockSession } from './client/lock-session.ts'
import { type NodeName, nodeStem, type PlaceName, parseName } from './names.ts'
import { founderAt, lifeOf } from './places.ts'
import type { Place, Queue } from './node-queue.ts'
import { isWire } from './client/errors.ts'
import type { Done, Step } from './client/operations.ts'

const ROUNDS = 20
const NOTHING = Buffer.alloc(0)

/** What one claim of a group does in the transaction of all. */
interface Plan {
  readonly steps: readonly Step[]
  /** The place of the hold that it joins, if it does. */
  readonly place: PlaceName | null
}

/** Claims that are granted together or not at all: their nodes are made in one transaction, so that groups never mix. */
export async function attemptGroup(
  desk: Desk,
  claims: readonly Claim[],
  sentAtMs: number,
): Promise<readonly ClaimAnswer[]> {
  // All of them were made in one step, so all of them are known.
  if (claims.every((claim) => desk.find(claim) !== undefined)) {
    return Promise.all(claims.map((claim) => attemptOne(desk, claim, sentAtMs)))
  }
  const never = claims.findIndex((claim) => mismatch(EMPTY, claim) !== null)
  if (never >= 0) return turnedAway(desk, claims, never, mismatch(EMPTY, claims[never] as Claim))
  const entries = claims.map((claim) => desk.enter(claim, sentAtMs))
  const work = ask(desk, entries, sentAtMs)
  // What else is asked about one of them waits until the group is decided.
  for (const entry of entries) entry.inTurn(() => work).catch(() => {})
  return work
}

async function ask(desk: Desk, entries: readonly Entry[], sentAtMs: number): Promise<readonly ClaimAnswer[]> {
  let session: LockSession
  try {
    const life = Math.max(...entries.map(({ claim }) => lifeOf(claim)))
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
    session = await desk.sessions.forLife(life, bytes)
  } catch (error) {
    for (const entry of entries) desk.forget(entry)
    throw error
  }
  for (const entry of entries) desk.attach(entry, session)
  let queues: readonly (Queue | null)[] = entries.map(() => null)
  for (let round = 0; round < ROUNDS; round++) {
    const plans = await planAll(desk, entries, queues)
    if (!Array.isArray(plans)) return giveUp(desk, entries, plans.entry, plans.answer)
    if (await carryOut(session, entries, plans)) {
      const after = await Promise.all(entries.map(({ keyPath }) => desk.queueAt(session.client, keyPath)))
      await joinKnown(desk, session, entries, after)
      const blocked = entries.findIndex((entry, index) => !holdsIn(after[index], entry))
      if (blocked < 0) return grantAll(desk, entries, after, sentAtMs)
      await removeAll(session, entries)
      return giveUp(desk, entries, entries[blocked] as Entry, null)
    }
    const synced = session.client.sync(desk.paths.root)
    const listed = Promise.all(entries.map(({ keyPath }) => desk.queueAt(session.client, keyPath)))
    queues = (await both(synced, listed))[1]
    await joinKnown(desk, session, entries, queues)
  }
  throw new StoreError('the keys come and go too quickly to be claimed together')
}

/** Nothing is left of a group when one of its claims would have to stand among nodes of another version. */
async function joinKnown(
  desk: Desk,
  session: LockSession,
  entries: readonly Entry[],
  queues: readonly (Queue | null)[],
): Promise<void> {
  try {
    for (const queue of queues) if (queue !== null) requireKnown(queue)
  } catch (error) {
    await removeAll(session, entries)
    for (const entry of entries) desk.forget(entry)
    throw error
  }
}

/** The steps of every claim, or the claim that cannot be granted; `answer` is null when it is only busy. */
async function planAll(
  desk: Desk,
  entries: readonly Entry[],
  queues: readonly (Queue | null)[],
): Promise<Plan[] | { entry: Entry; answer: ClaimAnswer | null }> {
  const plans: Plan[] = []
  for (const [index, entry] of entries.entries()) {
    const queue = queues[index] ?? null
    const reception = queue === null ? FREE : queue.receptionOf(entry.claim)
    if (reception.kind === 'refused') return { entry, answer: reception }
    if (reception.kind === 'busy') return { entry, answer: null }
    plans.push(
      reception.kind === 'join'
        ? await planJoin(desk, entry, reception.place)
        : planNode(desk, entry, queue === null),
    )
  }
  return plans
}

function planNode(desk: Desk, { claim, keyPath }: Entry, fresh: boolean): Plan {
  const { acl } = desk
  const path = `${keyPath}/${nodeStem(claim, null)}`
  const node: Step = { kind: 'create', path, data: nodeData(claim), node: 'ephemeral sequential', acl }
  const container: Step = { kind: 'create', path: keyPath, data: NOTHING, node: 'container', acl }
  return { steps: fresh ? [container, node] : [node], place: null }
}

async function planJoin(desk: Desk, { claim, keyPath, session }: Entry, hold: Place): Promise<Plan> {
  const member = hold.nodes[0] as NodeName
  const memberPath = `${keyPath}/${member.name}`
  const founder = await founderAt(session as LockSession, memberPath, member)
  const place = { seq: hold.seq, founder: founder ?? 0n }
  const path = `${keyPath}/${nodeStem({ ...claim, mode: hold.mode }, place)}`
  const { acl } = desk
  const node: Step = { kind: 'create', path, data: nodeData(claim), node: 'ephemeral sequential', acl }
  return { steps: [{ kind: 'check', path: memberPath }, node], place }
}

/** False when something was not as planned, so that nothing was done. */
async function carryOut(
  session: LockSession,
  entries: readonly Entry[],
  plans: readonly Plan[],
): Promise<boolean> {
  const result = await session.client.multi(plans.flatMap(({ steps }) => steps))
  if (!result.ok) {
    if (isWire(result.error, 'NodeExists', 'NoNode')) return false
    throw result.error
  }
  let next = 0
  for (const [index, entry] of entries.entries()) {
    const { steps, place } = plans[index] as Plan
    next += steps.length
    const { path } = result.done[next - 1] as Done
    const container = steps.length === 2 && place === null ? result.done[next - 2] : undefined
    const founder = container?.stat?.czxid ?? (await session.client.exists(path))?.czxid ?? 0n
    const name = path.slice(entry.keyPath.length + 1)
    entry.node = { name, path, place: place ?? { seq: parseName(name).seq, founder } }
    entry.alone = container !== undefined
  }
  return true
}

function holdsIn(queue: Queue | null | undefined, { node }: Entry): boolean {
  const place = node === null ? undefined : queue?.find(node.name)
  return place !== undefined && queue?.holds(place) === true
}

function grantAll(
  desk: Desk,
  entries: readonly Entry[],
  queues: readonly (Queue | null)[],
  sentAtMs: number,
): readonly ClaimAnswer[] {
  return entries.map((entry, index) => {
    entry.contended = (queues[index] as Queue).isContended
    desk.hold(entry, 'held', sentAtMs + entry.claim.ttlMs)
    return granted(entry)
  })
}

async function removeAll(session: LockSession, entries: readonly Entry[]): Promise<void> {
  const steps = entries.flatMap(({ node }): Step[] =>
    node === null ? [] : [{ kind: 'delete', path: node.path }],
  )
  if (steps.length === 0) return
  const result = await session.client.multi(steps)
  if (!result.ok) {
    const deletes = steps.map(({ path }) => session.client.delete(path))
    for (const outcome of await Promise.allSettled(deletes)) {
      if (outcome.status === 'rejected' && !isWire(outcome.reason, 'NoNode')) throw outcome.reason
    }
  }
}

/** Nobody waits as a group: its claims go on one by one, and learn then whom they wait for. */
function giveUp(
  desk: Desk,
  entries: readonly Entry[],
  stopped: Entry,
  refusal: ClaimAnswer | null,
): readonly ClaimAnswer[] {
  for (const entry of entries) desk.forget(entry)
  return turnedAway(
    desk,
    entries.map(({ claim }) => claim),
    entries.indexOf(stopped),
    refusal,
  )
}

/** The others may be free, but are not granted without the one that is not. */
function turnedAway(
  desk: Desk,
  claims: readonly Claim[],
  stopped: number,
  refusal: ClaimAnswer | null,
): readonly ClaimAnswer[] {
  const storeTimeMs = desk.runtime.nowMs()
  const blocked: ClaimAnswer = { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs, holder: null }
  return claims.map((_, index) => (index === stopped ? (refusal ?? blocked) : blocked))
}

const FREE = { kind: 'free' } as const

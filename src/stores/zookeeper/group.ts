import { StoreError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, EMPTY, mismatch } from '../../model/index.ts'
import { attemptOne, ROUNDS } from './acquire.ts'
import { both } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import type { MultiOp, MultiOpResult } from './client/operations.ts'
import { findClaim, type StoreContext } from './context.ts'
import { deleteNode } from './expiry.ts'
import { nodeData, requireKnown } from './format.ts'
import { grant } from './hold.ts'
import { enterClaim, type LocalClaim } from './local-claims.ts'
import { type NodeName, nodeStem, type PositionName, parseName } from './names.ts'
import type { NodeQueue, Position } from './node-queue.ts'
import { lifeOf } from './nodes.ts'
import { listQueue, readFounder } from './read.ts'

const NOTHING = Buffer.alloc(0)

/** The operations of one claim in the transaction of its group. */
interface NodePlan {
  readonly ops: readonly MultiOp[]
  /** The position of the hold that it joins, if it does. */
  readonly position: PositionName | null
}

/** Grants all claims or none: one transaction makes all their nodes, so groups never interleave. A group never waits. */
export async function attemptGroup(
  context: StoreContext,
  claims: readonly Claim[],
  sentAtMs: number,
): Promise<readonly ClaimAnswer[]> {
  // One transaction made all of them, so either all are known or none.
  if (claims.every((claim) => findClaim(context, claim) !== undefined))
    return Promise.all(claims.map((claim) => attemptOne(context, claim, sentAtMs)))
  const never = claims.findIndex((claim) => mismatch(EMPTY, claim) !== null)
  if (never >= 0) return refuse(context, claims, never, mismatch(EMPTY, claims[never] as Claim))
  const locals = claims.map((claim) => enterClaim(context, claim, sentAtMs))
  const work = attempt(context, locals, sentAtMs)
  // Other operations on a member wait until the group is decided.
  for (const local of locals) local.inTurn(() => work).catch(() => {})
  return work
}

async function attempt(
  context: StoreContext,
  locals: readonly LocalClaim[],
  sentAtMs: number,
): Promise<readonly ClaimAnswer[]> {
  let session: LockSession
  try {
    const life = Math.max(...locals.map(({ claim }) => lifeOf(claim)))
    const bytes = locals.reduce((sum, local) => sum + local.bytes, 0)
    session = await context.sessions.forLife(life, bytes)
  } catch (error) {
    forgetAll(locals)
    throw error
  }
  for (const local of locals) local.attach(session)
  const { client } = session
  const listAll = () => Promise.all(locals.map(({ keyPath }) => listQueue(client, keyPath)))
  let queues: readonly (NodeQueue | null)[] = locals.map(() => null)
  for (let round = 0; round < ROUNDS; round++) {
    const plans = await planAll(locals, queues)
    if (!Array.isArray(plans)) return giveUp(context, locals, plans.index, plans.answer)
    if (await writeAll(session, locals, plans)) {
      const after = await listAll()
      await requireAllKnown(session, locals, after)
      const blocked = locals.findIndex((local, index) => !holdsIn(after[index], local))
      if (blocked < 0)
        return locals.map((local, index) => {
          local.contended = (after[index] as NodeQueue).isContended
          return grant(local, sentAtMs)
        })
      await removeAll(session, locals)
      return giveUp(context, locals, blocked, null)
    }
    queues = (await both(client.sync(context.paths.root), listAll()))[1]
    await requireAllKnown(session, locals, queues)
  }
  throw new StoreError('the keys come and go too quickly to be claimed together')
}

/** Removes the whole group if one of its keys has nodes of another version. */
async function requireAllKnown(
  session: LockSession,
  locals: readonly LocalClaim[],
  queues: readonly (NodeQueue | null)[],
): Promise<void> {
  try {
    for (const queue of queues) if (queue !== null) requireKnown(queue)
  } catch (error) {
    await removeAll(session, locals)
    forgetAll(locals)
    throw error
  }
}

/** The plans of all claims, or the claim that cannot be granted; `answer` is null if its key is only busy. */
async function planAll(
  locals: readonly LocalClaim[],
  queues: readonly (NodeQueue | null)[],
): Promise<NodePlan[] | { index: number; answer: ClaimAnswer | null }> {
  const plans: NodePlan[] = []
  for (const [index, local] of locals.entries()) {
    const queue = queues[index] ?? null
    const admission = queue?.admissionOf(local.claim)
    if (admission?.kind === 'refused') return { index, answer: admission }
    if (admission?.kind === 'busy') return { index, answer: null }
    plans.push(
      admission?.kind === 'join'
        ? await planJoin(local, admission.position)
        : planNode(local, queue === null),
    )
  }
  return plans
}

function planNode({ claim, context: { acl }, keyPath }: LocalClaim, isNew: boolean): NodePlan {
  const path = `${keyPath}/${nodeStem(claim, null)}`
  const node: MultiOp = { kind: 'create', path, data: nodeData(claim), node: 'ephemeral sequential', acl }
  const container: MultiOp = { kind: 'create', path: keyPath, data: NOTHING, node: 'container', acl }
  return { ops: isNew ? [container, node] : [node], position: null }
}

async function planJoin(local: LocalClaim, hold: Position): Promise<NodePlan> {
  const { claim, context, keyPath, session } = local
  const member = hold.nodes[0] as NodeName
  const memberPath = `${keyPath}/${member.name}`
  const founder = await readFounder((session as LockSession).client, memberPath, member)
  const position = { seq: hold.seq, founder: founder ?? 0n }
  const path = `${keyPath}/${nodeStem({ ...claim, mode: hold.mode }, position)}`
  const { acl } = context
  const node: MultiOp = { kind: 'create', path, data: nodeData(claim), node: 'ephemeral sequential', acl }
  return { ops: [{ kind: 'check', path: memberPath }, node], position }
}

/** False when a queue has changed, so that nothing was done. */
async function writeAll(
  { client }: LockSession,
  locals: readonly LocalClaim[],
  plans: readonly NodePlan[],
): Promise<boolean> {
  const result = await client.multi(plans.flatMap(({ ops }) => ops))
  if (!result.ok) {
    if (isWire(result.error, 'NodeExists', 'NoNode')) return false
    throw result.error
  }
  let next = 0
  for (const [index, local] of locals.entries()) {
    const { ops, position } = plans[index] as NodePlan
    next += ops.length
    const { path } = result.done[next - 1] as MultiOpResult
    const container = ops.length === 2 && position === null ? result.done[next - 2] : undefined
    const founder = container?.stat?.czxid ?? (await client.exists(path))?.czxid ?? 0n
    const name = path.slice(local.keyPath.length + 1)
    const own = position ?? { seq: parseName(name).seq, founder }
    local.stand({ name, path, position: own }, container !== undefined)
  }
  return true
}

function holdsIn(queue: NodeQueue | null | undefined, { node }: LocalClaim): boolean {
  const position = node === null ? undefined : queue?.find(node.name)
  return position !== undefined && queue?.holds(position) === true
}

async function removeAll({ client }: LockSession, locals: readonly LocalClaim[]): Promise<void> {
  const paths = locals.flatMap(({ node }) => node?.path ?? [])
  if (paths.length === 0) return
  const result = await client.multi(paths.map((path) => ({ kind: 'delete', path })))
  if (result.ok) return
  for (const outcome of await Promise.allSettled(paths.map((path) => deleteNode(client, path))))
    if (outcome.status === 'rejected') throw outcome.reason
}

function forgetAll(locals: readonly LocalClaim[]): void {
  for (const local of locals) local.forget()
}

/** The core goes on with the claims one by one, which shows it what they wait for. */
function giveUp(
  context: StoreContext,
  locals: readonly LocalClaim[],
  stopped: number,
  refusal: ClaimAnswer | null,
): readonly ClaimAnswer[] {
  forgetAll(locals)
  return refuse(
    context,
    locals.map(({ claim }) => claim),
    stopped,
    refusal,
  )
}

/** The other claims may be free by themselves, but are not granted without the stopped one. */
function refuse(
  { runtime }: StoreContext,
  claims: readonly Claim[],
  stopped: number,
  refusal: ClaimAnswer | null,
): readonly ClaimAnswer[] {
  const storeTimeMs = runtime.nowMs()
  const blocked: ClaimAnswer = { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs, holder: null }
  return claims.map((_, index) => (index === stopped ? (refusal ?? blocked) : blocked))
}

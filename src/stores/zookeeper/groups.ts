import { StoreError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, EMPTY, mismatch } from '../../model/index.ts'
import { granted } from './answers.ts'
import { attemptOne } from './attempt.ts'
import { both, type Desk } from './desk.ts'
import type { Entry } from './entry.ts'
import { nodeData } from './format.ts'
import { findName, isContended, type Line, type Place, receptionOf } from './line.ts'
import { type NodeName, nodeStem, type PlaceName, parseName } from './names.ts'
import { lifeOf } from './places.ts'
import type { LockSession } from './sessions.ts'
import { isWire } from './wire/errors.ts'
import type { Done, Step } from './wire/operations.ts'

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
    session = await desk.sessions.forLife(Math.max(...entries.map(({ claim }) => lifeOf(claim))))
  } catch (error) {
    for (const entry of entries) desk.forget(entry)
    throw error
  }
  for (const entry of entries) desk.attach(entry, session)
  let lines: readonly (Line | null)[] = entries.map(() => null)
  for (let round = 0; round < ROUNDS; round++) {
    const plans = await planAll(desk, entries, lines)
    if (!Array.isArray(plans)) return giveUp(desk, entries, plans.entry, plans.answer)
    if (await carryOut(session, entries, plans)) {
      const after = await Promise.all(entries.map(({ keyPath }) => desk.lineAt(session.client, keyPath)))
      const blocked = entries.findIndex((entry, index) => !holdsIn(after[index], entry))
      if (blocked < 0) return grantAll(desk, entries, after, sentAtMs)
      await removeAll(session, entries)
      return giveUp(desk, entries, entries[blocked] as Entry, null)
    }
    const synced = session.client.sync(desk.paths.root)
    const listed = Promise.all(entries.map(({ keyPath }) => desk.lineAt(session.client, keyPath)))
    lines = (await both(synced, listed))[1]
  }
  throw new StoreError('the keys come and go too quickly to be claimed together')
}

/** The steps of every claim, or the claim that cannot be granted; `answer` is null when it is only busy. */
async function planAll(
  desk: Desk,
  entries: readonly Entry[],
  lines: readonly (Line | null)[],
): Promise<Plan[] | { entry: Entry; answer: ClaimAnswer | null }> {
  const plans: Plan[] = []
  for (const [index, entry] of entries.entries()) {
    const line = lines[index] ?? null
    const reception = line === null ? FREE : receptionOf(line, entry.claim)
    if (reception.kind === 'refused') return { entry, answer: reception }
    if (reception.kind === 'busy') return { entry, answer: null }
    plans.push(
      reception.kind === 'join'
        ? await planJoin(desk, entry, reception.place)
        : planNode(desk, entry, line === null),
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
  const stat = member.place === null ? await session?.client.exists(memberPath) : null
  const place = member.place ?? { seq: hold.seq, founder: stat?.czxid ?? 0n }
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

function holdsIn(line: Line | null | undefined, { node }: Entry): boolean {
  return line != null && node !== null && findName(line, node.name)?.holds === true
}

function grantAll(
  desk: Desk,
  entries: readonly Entry[],
  lines: readonly (Line | null)[],
  sentAtMs: number,
): readonly ClaimAnswer[] {
  return entries.map((entry, index) => {
    entry.contended = isContended(lines[index] as Line)
    desk.hold(entry, 'held', sentAtMs + entry.claim.ttlMs)
    return granted(entry)
  })
}

async function removeAll(session: LockSession, entries: readonly Entry[]): Promise<void> {
  const steps = entries.map(({ node }): Step => ({ kind: 'delete', path: node?.path ?? '' }))
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

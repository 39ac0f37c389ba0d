import type { Soon } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { EtcdLease } from './client/leases.ts'
import type { Compare, Op, RangeOp } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'
import { bind, discard, type StoreContext, withLeases } from './context.ts'
import { claimValue } from './format.ts'
import { present, unchanged } from './guards.ts'
import {
  claimOps,
  draftHold,
  endStray,
  granted,
  type HoldDraft,
  holdLeases,
  listOf,
  noteFound,
  noteHold,
  removal,
} from './hold.ts'
import { LocalClaim, type QueueAnswer, type StoredClaim } from './local-claims.ts'
import { claimRange, queueName, type Range } from './names.ts'
import { contendedOp, isContended } from './notifications.ts'
import { type Guards, whenOver } from './queue-watch.ts'
import { blocked, closingOf } from './read.ts'
import { rebind } from './rebind.ts'
import {
  entryOf,
  type Obstacle,
  obstacleOf,
  positionOf,
  type QueueSnapshot,
  refusalOf,
  snapshotOf,
  snapshotOps,
} from './snapshot.ts'

/** A position outlives its process by this time at most. */
export const WAITING_TTL_MS = 3000
/** The life of a grant that no attempt or renewal has confirmed. */
const OFFER_MS = 1000
/** A hold that is shorter than this needs no notification. */
const TELL_AFTER_MS = 50
/** Fallback poll while more claims arrive than a snapshot reads. */
const INCOMPLETE_MS = 20
/** Pause after a look that failed. */
const RETRY_MS = 500

/** The lease of a position: a short one if it exists already, else that of the hold to come. */
export function queueLease({ leases }: StoreContext, { ttlMs }: Claim): Soon<EtcdLease> {
  return (ttlMs > WAITING_TTL_MS ? leases.existing(WAITING_TTL_MS) : null) ?? leases.forTtl(ttlMs)
}

/** Enters a claim that arrived among the local claims; it has no position yet. */
export function noteArrival(
  { claims, inbox, leases }: StoreContext,
  claim: Claim,
  stored: StoredClaim,
  lease: EtcdLease,
  nextLease: EtcdLease,
  sentAtMs: number,
): LocalClaim {
  const local = new LocalClaim(claims, claim, 'joining', stored, lease, sentAtMs)
  local.nextLease = nextLease
  const before = claims.get(claim)
  if (before !== undefined) claims.drop(before)
  claims.add(local)
  inbox.begin(stored.changed)
  leases.prepare(Math.min(WAITING_TTL_MS, claim.ttlMs))
  return local
}

/** Looks whether the claim holds now. An earlier look that ends with `blocked` may have been too early to tell. */
export async function lookAtQueue(context: StoreContext, local: LocalClaim): Promise<QueueAnswer> {
  local.asked = true
  const earlier = await local.looking
  if (earlier !== null && earlier.kind !== 'blocked') return earlier
  local.asked = true
  return lookOnce(context, local, null)
}

function lookOnce(context: StoreContext, local: LocalClaim, guards: Guards): Promise<QueueAnswer> {
  local.looking ??= look(context, local, guards).finally(() => {
    local.looking = null
  })
  return local.looking
}

async function look(context: StoreContext, local: LocalClaim, guards: Guards): Promise<QueueAnswer> {
  if (local.state === 'joining') return join(context, local)
  const { claim, order, name } = local
  const sentAtMs = context.runtime.nowMs()
  if (guards !== null) return grant(context, local, guards, sentAtMs)
  const success: RangeOp[] = [
    { kind: 'range', key: name },
    ...snapshotOps(claim.key, claim.mode, order, claim.owner !== null),
  ]
  const { results, header } = await context.client.txn({ success })
  return judge(context, local, results, header.revision, sentAtMs)
}

/** Gives a claim that arrived its position, by the revision of its arrival, and reads the claims before it. */
async function join(context: StoreContext, local: LocalClaim): Promise<QueueAnswer> {
  const { claims, inbox, leases, runtime } = context
  const { claim, order } = local
  const { key, id, mode } = claim
  const name = queueName(key, mode.kind, order, id)
  const reads = snapshotOps(key, mode, order, claim.owner !== null)
  const sentAtMs = runtime.nowMs()
  const found = await withLeases(async () => {
    const lease = await queueLease(context, claim)
    const bound = { lease, delay: null }
    const value = claimValue(claim, inbox.address, 'waiting', runtime.wallMs())
    const success: Op[] = [
      { kind: 'delete', key: local.name },
      ...claimOps({ claim, name, value, leases: bound, order }),
      ...reads,
    ]
    const failure: Op[] = [{ kind: 'range', key: name }, ...reads]
    const txn = { compare: [present(local)], success, failure }
    return bind(context, { txn, leases: [lease] }, ({ succeeded, results, header: { revision } }) => {
      const kv = succeeded ? undefined : results[0]?.kvs[0]
      if (!succeeded && kv === undefined) return null
      if (!claims.has(local)) {
        // The claim was released while the transaction was in flight.
        if (succeeded) endStray(context, { claim, name, created: revision }, bound)
        return null
      }
      local.name = name
      local.created = kv?.created ?? revision
      local.changed = kv?.changed ?? revision
      local.state = 'waiting'
      local.lease = kv === undefined ? lease : leases.byId(kv.lease)
      if (succeeded) local.value = value
      const held = kv !== undefined && entryOf(kv).value.state === 'held' ? entryOf(kv) : null
      return { held, snapshot: snapshotOf(key, results, revision, id) }
    })
  })
  if (found === null) {
    claims.drop(local)
    return { kind: 'gone' }
  }
  if (found.held !== null) return noteFound(context, local, found.held, sentAtMs)
  const refusal = refusalOf(found.snapshot, claim)
  if (refusal !== null) {
    claims.drop(local)
    await discard(context, local.lease, [], removal(claim, local.name))
    return refusal
  }
  return settle(context, local, found.snapshot, sentAtMs)
}

/** Decides by the claim's own key and the claims before it. */
async function judge(
  context: StoreContext,
  local: LocalClaim,
  results: readonly OpResult[],
  revision: number,
  sentAtMs: number,
): Promise<QueueAnswer> {
  const kv = results[0]?.kvs[0]
  if (kv === undefined || kv.created !== local.created) {
    context.claims.drop(local)
    return { kind: 'gone' }
  }
  const entry = entryOf(kv)
  local.changed = kv.changed
  if (entry.value.state === 'held') return noteFound(context, local, entry, sentAtMs)
  return settle(context, local, snapshotOf(local.claim.key, results, revision, local.claim.id), sentAtMs)
}

/** Grants a claim without an obstacle; otherwise watches the obstacle. */
async function settle(
  context: StoreContext,
  local: LocalClaim,
  snapshot: QueueSnapshot,
  sentAtMs: number,
): Promise<QueueAnswer> {
  const { claims, runtime } = context
  const { claim, order } = local
  const { closedBy, delaying } = await closingOf(context, snapshot)
  const obstacle = obstacleOf(snapshot, claim.mode, order, closedBy)
  if (obstacle === null) return grant(context, local, delaying, sentAtMs)
  if (local.lease.retired && !(await rebind(context, local, queueLease(context, claim))))
    return { kind: 'gone' }
  if (!claims.has(local)) return { kind: 'gone' }
  local.position = positionOf(snapshot, claim.mode, order)
  if (local.position === 1 && !local.told) {
    local.told = true
    local.tellAtMs = runtime.nowMs() + TELL_AFTER_MS
    claims.watch(local)
  }
  if (local.state === 'waiting') watch(context, local, obstacle, snapshot)
  return blocked(context, snapshot, local.position, sentAtMs)
}

/** Makes the claim a hold if `guards` are true; otherwise decides by what the transaction has read. */
async function grant(
  context: StoreContext,
  local: LocalClaim,
  guards: readonly Compare[],
  sentAtMs: number,
): Promise<QueueAnswer> {
  const { claim, name, order } = local
  const { key, mode, id, owner } = claim
  const compare = [unchanged(local), ...guards]
  const seen = await withLeases(async () => {
    const leases = await holdLeases(context, claim)
    // The hold of a named owner leaves the queue, where other claims of the owner find it.
    const draft = draftHold(context, claim, leases, { granted: true }, owner === null ? order : null)
    const moved: Op[] = owner === null ? [] : [{ kind: 'delete', key: name }]
    const success = [...moved, ...claimOps(draft), contendedOp(key, mode.kind)]
    const failure: Op[] = [{ kind: 'range', key: name }, ...snapshotOps(key, mode, order, owner !== null)]
    const lasting = [context.leases.extend(leases.lease, claim.ttlMs)]
    const binding = { txn: { compare, success, failure }, leases: listOf(leases), lasting }
    return bind(context, binding, ({ succeeded, results, header: { revision } }) => {
      if (!succeeded) return { results, revision }
      return noteGranted(context, local, draft, revision, isContended(results.at(-1) as OpResult, id))
    })
  })
  return 'kind' in seen ? seen : judge(context, local, seen.results, seen.revision, sentAtMs)
}

/** Ends the hold of a claim that this store has forgotten meanwhile. */
function noteGranted(
  context: StoreContext,
  local: LocalClaim,
  draft: HoldDraft,
  revision: number,
  contended: boolean,
): QueueAnswer {
  const created = draft.order === null ? revision : local.created
  if (!context.claims.has(local)) {
    endStray(context, { claim: draft.claim, name: draft.name, created }, draft.leases)
    return { kind: 'gone' }
  }
  const held = noteHold(context, draft, created, revision)
  return granted(held.seq, held.claim, contended)
}

function watch(context: StoreContext, local: LocalClaim, obstacle: Obstacle, snapshot: QueueSnapshot): void {
  local.stopWatch?.()
  local.stopWatch = null
  if (obstacle.kind === 'incomplete') {
    wakeLater(context, local, INCOMPLETE_MS)
    return
  }
  const { claim, order } = local
  const wakeUp = (guards: Guards): void => wake(context, local, guards)
  const changed = whenOver(obstacle, snapshot, claim, order, wakeUp)
  const range: Range = obstacle.kind === 'permits' ? claimRange(claim.key) : { key: obstacle.name }
  const wanted = { ...range, fromRevision: snapshot.revision + 1, previous: obstacle.kind === 'key' }
  local.stopWatch = context.client.watcher.watch(
    obstacle.kind === 'turn' ? wanted : { ...wanted, ignore: 'puts' },
    { changed, missed: () => wakeUp(null) },
  )
}

/** Looks again after the obstacle has changed, and notifies the core of a grant. */
function wake(context: StoreContext, local: LocalClaim, guards: Guards): void {
  if (!context.claims.has(local) || local.state !== 'waiting') return
  local.stopWatch?.()
  local.stopWatch = null
  if (local.looking === null) local.asked = false
  const sentAtMs = context.runtime.nowMs()
  lookOnce(context, local, guards).then(
    (answer) => {
      if (!local.asked) push(context, local.claim, answer, sentAtMs)
    },
    () => wakeLater(context, local, RETRY_MS),
  )
}

/** Fallback without a watch: no renewal or notification may come before the next look. */
function wakeLater(context: StoreContext, local: LocalClaim, afterMs: number): void {
  if (!context.claims.has(local) || local.stopWatch !== null) return
  const timer = context.runtime.setTimer(() => wake(context, local, null), afterMs, true)
  local.stopWatch = () => timer.clear()
}

function push(context: StoreContext, claim: Claim, answer: QueueAnswer, sentAtMs: number): void {
  const { claims, leases, runtime, tell } = context
  const { key, id, ttlMs } = claim
  if (answer.kind === 'gone') tell({ kind: 'retry', id, key })
  if (answer.kind !== 'granted') return
  const held = claims.get(claim)
  const lifeMs = Math.min(ttlMs, OFFER_MS)
  // An attempt may have confirmed the hold during the keep-alive: then it must not end with the offer.
  if (held?.state !== 'held' || held.confirmed) return
  if (!leases.lasts(held.lease, sentAtMs + lifeMs - runtime.nowMs())) {
    tell({ kind: 'retry', id, key })
    return
  }
  held.offerEndsAtMs = sentAtMs + lifeMs
  claims.watch(held)
  const { token, spare, contended } = answer
  tell({ kind: 'granted', key, id, token, spare, contended, storeTimeMs: sentAtMs, lifeMs })
}

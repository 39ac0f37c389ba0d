import type { Soon } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import { contendedOp, isContended } from './contention.ts'
import { bind, discard, type StoreContext, withLeases } from './context.ts'
import { present, unchanged } from './guards.ts'
import {
  type Draft,
  draftHold,
  endStray,
  granted,
  holdLeases,
  holdOps,
  listOf,
  noteFound,
  noteHold,
  rebind,
  removal,
  waitingOps,
} from './hold.ts'
import type { Lease } from './client/leases.ts'
import { type LocalClaim, type Look, localClaim } from './local-claims.ts'
import { claimsOf, queueName, type Range } from './names.ts'
import { blocked, closingOf } from './read.ts'
import {
  entryOf,
  type Obstacle,
  obstacleOf,
  positionOf,
  refusalOf,
  type Snapshot,
  snapshotOf,
  snapshotOps,
} from './snapshot.ts'
import { claimValue } from './format.ts'
import { type Guards, whenOver } from './queue-watch.ts'
import type { Compare, Op, RangeOp } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'

/** How long a position in the queue outlives its process: a dead waiter costs no more than that. */
export const WAITING_TTL_MS = 3000
/** A grant that was not asked for in this very step ends after that, unless somebody takes it up. */
const OFFER_MS = 1000
/** A holder that is done by then need not know that somebody waits. */
const TELL_AFTER_MS = 50
/** While more claims arrive than can be read, whoever is next looks again so often. */
const RUSH_MS = 20
/** What was not heard is looked at again after that. */
const RETRY_MS = 500

/** Claims in the queue: each watches one before it, and reads only what is near. */
export class Queue {
  private readonly context: StoreContext

  constructor(context: StoreContext) {
    this.context = context
  }

  /** The lease for a position: a short one if it is there already, else that of the hold to come. */
  leaseFor({ ttlMs }: Claim): Soon<Lease> {
    const { leases } = this.context
    return (ttlMs > WAITING_TTL_MS ? leases.atHand(WAITING_TTL_MS) : null) ?? leases.forTtl(ttlMs)
  }

  /** A claim that arrived is known from now on; it has no position yet. */
  arrived(
    claim: Claim,
    entry: Pick<LocalClaim, 'name' | 'value' | 'created' | 'changed' | 'order'>,
    lease: Lease,
    nextLease: Lease,
    sentAtMs: number,
  ): LocalClaim {
    const { claims, inbox, leases } = this.context
    const local = localClaim(claim, { ...entry, state: 'joining' }, lease, sentAtMs)
    local.nextLease = nextLease
    const before = claims.get(claim)
    if (before !== undefined) claims.drop(before)
    claims.add(local)
    inbox.begin(entry.changed)
    leases.prepare(Math.min(WAITING_TTL_MS, claim.ttlMs))
    return local
  }

  /** Gives a claim that arrived its position, by the revision of its arrival, and reads what is before it. */
  async enter(local: LocalClaim): Promise<Look> {
    const { claims, inbox, runtime } = this.context
    const { claim, order } = local
    const { key, id, mode } = claim
    const name = queueName(key, mode.kind, order, id)
    const look = snapshotOps(key, mode, order, claim.owner !== null)
    const sentAtMs = runtime.nowMs()
    const found = await withLeases(async () => {
      const lease = await this.leaseFor(claim)
      const value = claimValue(claim, inbox.address, 'waiting', runtime.wallMs())
      const success: Op[] = [
        { kind: 'delete', key: local.name },
        ...waitingOps(claim, name, value, lease, order),
        ...look,
      ]
      const failure: Op[] = [{ kind: 'range', key: name }, ...look]
      const txn = { compare: [present(local)], success, failure }
      return bind(this.context, { txn, leases: [lease] }, ({ succeeded, results, header }) => {
        const kv = succeeded ? undefined : results[0]?.kvs[0]
        if (!succeeded && kv === undefined) return null
        const { revision } = header
        if (!claims.has(local)) {
          // It was released while its position was on the way.
          if (succeeded) endStray(this.context, { claim, name, created: revision }, { lease, delay: null })
          return null
        }
        local.name = name
        local.created = kv?.created ?? revision
        local.changed = kv?.changed ?? revision
        local.state = 'waiting'
        local.lease = kv === undefined ? lease : this.context.leases.bound(kv.lease)
        if (succeeded) local.value = value
        const held = kv !== undefined && entryOf(kv).value.state === 'held' ? entryOf(kv) : null
        return { held, snapshot: snapshotOf(key, results, revision, id) }
      })
    })
    if (found === null) {
      claims.drop(local)
      return { kind: 'gone' }
    }
    if (found.held !== null) return noteFound(this.context, local, found.held, sentAtMs)
    const refusal = refusalOf(found.snapshot, claim)
    if (refusal !== null) {
      claims.drop(local)
      await discard(this.context, local.lease, [], removal(claim, local.name))
      return refusal
    }
    return this.settle(local, found.snapshot, sentAtMs)
  }

  /** Looks whether the claim's turn has come. A look that was under way may have been too early to tell. */
  async look(local: LocalClaim): Promise<Look> {
    local.asked = true
    const earlier = await local.looking
    if (earlier !== null && earlier.kind !== 'blocked') return earlier
    local.asked = true
    return this.lookOnce(local, null)
  }

  /** What is before a claim decides. One that nothing stands before is granted. */
  async settle(local: LocalClaim, snapshot: Snapshot, sentAtMs: number): Promise<Look> {
    const { claims, runtime } = this.context
    const { claim, order } = local
    const { closedBy, delaying } = await closingOf(this.context, snapshot)
    const obstacle = obstacleOf(snapshot, claim.mode, order, closedBy)
    if (obstacle === null) return this.grant(local, delaying, sentAtMs)
    if (local.lease.retired && !(await rebind(this.context, local, this.leaseFor(claim))))
      return { kind: 'gone' }
    if (!claims.has(local)) return { kind: 'gone' }
    local.position = positionOf(snapshot, claim.mode, order)
    if (local.position === 1 && !local.told) {
      local.told = true
      local.tellAtMs = runtime.nowMs() + TELL_AFTER_MS
      claims.watch(local)
    }
    if (local.state === 'waiting') this.watch(local, obstacle, snapshot)
    return blocked(this.context, snapshot, local.position, sentAtMs)
  }

  private lookOnce(local: LocalClaim, guards: Guards): Promise<Look> {
    local.looking ??= this.lookNow(local, guards).finally(() => {
      local.looking = null
    })
    return local.looking
  }

  private async lookNow(local: LocalClaim, guards: Guards): Promise<Look> {
    if (local.state === 'joining') return this.enter(local)
    const { claim, order, name } = local
    const sentAtMs = this.context.runtime.nowMs()
    if (guards !== null) return this.write(local, [unchanged(local), ...guards], sentAtMs)
    const success: RangeOp[] = [
      { kind: 'range', key: name },
      ...snapshotOps(claim.key, claim.mode, order, claim.owner !== null),
    ]
    const { results, header } = await this.context.client.txn({ compare: [], success, failure: [] })
    return this.judge(local, results, header.revision, sentAtMs)
  }

  /** By the order it is the claim's turn, and that stays true. */
  private grant(local: LocalClaim, delaying: readonly Compare[], sentAtMs: number): Promise<Look> {
    return this.write(local, [unchanged(local), ...delaying], sentAtMs)
  }

  /** Makes it a hold if that is right; else says what is in the way. */
  private async write(local: LocalClaim, compare: readonly Compare[], sentAtMs: number): Promise<Look> {
    const { claim, name, order } = local
    const { key, mode, id, owner } = claim
    const seen = await withLeases(async () => {
      const leases = await holdLeases(this.context, claim)
      // Others must find the hold of an owner among those that are not in the queue.
      const draft = draftHold(this.context, claim, leases, { granted: true }, owner === null ? order : null)
      const moved: Op[] = owner === null ? [] : [{ kind: 'delete', key: name }]
      const success = [...moved, ...holdOps(draft), contendedOp(key, mode.kind)]
      const failure: Op[] = [{ kind: 'range', key: name }, ...snapshotOps(key, mode, order, owner !== null)]
      const lasting = [this.context.leases.fresh(leases.lease, claim.ttlMs)]
      const binding = { txn: { compare, success, failure }, leases: listOf(leases), lasting }
      return bind(this.context, binding, ({ succeeded, results, header }) => {
        const { revision } = header
        if (!succeeded) return { results, revision }
        return this.noteGranted(local, draft, revision, isContended(results.at(-1) as OpResult, id))
      })
    })
    return 'kind' in seen ? seen : this.judge(local, seen.results, seen.revision, sentAtMs)
  }

  /** What the claim's own key and those before it say. */
  private async judge(
    local: LocalClaim,
    results: readonly OpResult[],
    revision: number,
    sentAtMs: number,
  ): Promise<Look> {
    const kv = results[0]?.kvs[0]
    if (kv === undefined || kv.created !== local.created) {
      this.context.claims.drop(local)
      return { kind: 'gone' }
    }
    const entry = entryOf(kv)
    local.changed = kv.changed
    if (entry.value.state === 'held') return noteFound(this.context, local, entry, sentAtMs)
    return this.settle(local, snapshotOf(local.claim.key, results, revision, local.claim.id), sentAtMs)
  }

  /** A claim that was forgotten meanwhile has nobody who would end the hold. */
  private noteGranted(local: LocalClaim, draft: Draft, revision: number, contended: boolean): Look {
    const created = draft.order === null ? revision : local.created
    if (!this.context.claims.has(local)) {
      endStray(this.context, { claim: draft.claim, name: draft.name, created }, draft.leases)
      return { kind: 'gone' }
    }
    const held = noteHold(this.context, draft, created, revision)
    return granted(held.seq, held.claim, contended)
  }

  private watch(local: LocalClaim, obstacle: Obstacle, snapshot: Snapshot): void {
    const { client } = this.context
    const { key } = local.claim
    local.stopWatch?.()
    local.stopWatch = null
    if (obstacle.kind === 'rush') {
      this.turnLater(local, RUSH_MS)
      return
    }
    const wake = (guards: Guards): void => this.turn(local, guards)
    const { claim, order } = local
    const changed = whenOver(obstacle, snapshot, claim, order, wake)
    const range: Range = obstacle.kind === 'permits' ? claimsOf(key) : { key: obstacle.name }
    const wanted = { ...range, fromRevision: snapshot.revision + 1, previous: obstacle.kind === 'key' }
    local.stopWatch = client.watcher.watch(
      obstacle.kind === 'turn' ? wanted : { ...wanted, ignore: 'puts' },
      { changed, missed: () => wake(null) },
    )
  }

  /** Something before the claim is gone. Its process is told what that means. */
  private turn(local: LocalClaim, guards: Guards): void {
    const { claims, runtime } = this.context
    if (!claims.has(local) || local.state !== 'waiting') return
    local.stopWatch?.()
    local.stopWatch = null
    if (local.looking === null) local.asked = false
    const sentAtMs = runtime.nowMs()
    this.lookOnce(local, guards).then(
      (answer) => {
        if (!local.asked) this.push(local.claim, answer, sentAtMs)
      },
      () => this.turnLater(local, RETRY_MS),
    )
  }

  /** What cannot be known now is looked at again, although nothing may be renewed or told until then. */
  private turnLater(local: LocalClaim, afterMs: number): void {
    if (!this.context.claims.has(local) || local.stopWatch !== null) return
    const timer = this.context.runtime.setTimer(() => this.turn(local, null), afterMs, true)
    local.stopWatch = () => timer.clear()
  }

  private push(claim: Claim, answer: Look, sentAtMs: number): void {
    const { claims, leases, runtime, tell } = this.context
    const { key, id, ttlMs } = claim
    if (answer.kind === 'gone') tell({ kind: 'retry', id, key })
    if (answer.kind !== 'granted') return
    const held = claims.get(claim)
    const lifeMs = Math.min(ttlMs, OFFER_MS)
    // It may have been taken up while its lease was kept alive: then it must not end with the offer.
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
}

import { ClosedError, type LockError, type StoreError, type TimeoutDetails } from '../../errors.ts'
import type { Blocked, Claim } from '../../model/index.ts'
import type { Engine } from '../engine.ts'
import { isFresh, type LocalHold } from '../lease/hold.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Soon } from '../store.ts'
import { Acquisition, type AcquisitionOwner } from './acquisition.ts'
import { ask, type Grant, grantedAtOnce } from './grant.ts'
import { type Busy, detailsOf, Waiter, type WaiterHome } from './waiter.ts'
import { WaiterList } from './waiter-list.ts'

/** The waiters of one process for one key, behind the claims that were sent to the store for them. */
export abstract class LocalQueue implements AcquisitionOwner, WaiterHome {
  abstract readonly notifies: boolean
  protected readonly engine: Engine
  protected readonly waiters = new WaiterList()
  protected readonly acquisitions = new Set<Acquisition>()

  constructor(engine: Engine) {
    this.engine = engine
  }

  get waiting(): number {
    return this.waiters.length
  }

  /** No hold and no waiter uses this queue. */
  abstract get idle(): boolean

  close(quietly: boolean): void {
    for (const acquisition of this.acquisitions) acquisition.cancel()
    this.acquisitions.clear()
    for (const waiter of this.waiters.drain()) if (!quietly) waiter.fail(new ClosedError())
  }

  abstract granted(acquisition: Acquisition, grant: Grant): void

  abstract busy(acquisition: Acquisition, blocked: Blocked): void

  abstract failed(acquisition: Acquisition, error: LockError): void

  abstract abandon(waiter: Waiter): StoreError | TimeoutDetails

  /** Sends the first claim for a request. The store may answer at once. */
  protected open(request: LockRequest, claim: Claim): Soon<StoreLease | Busy> {
    const { engine } = this
    const sinceMs = engine.runtime.nowMs()
    if (!engine.client.immediate) {
      const waiter = this.wait(request, sinceMs)
      this.sendFor(waiter, claim).begin(sinceMs)
      return waiter.promise
    }
    engine.watchdog.sleeps()
    const answers = ask(engine, claim)
    const nowMs = engine.runtime.nowMs()
    const grant = grantedAtOnce(answers, claim, sinceMs, nowMs)
    if (grant !== null) return this.admit(claim, request, grant, sinceMs, nowMs)
    const waiter = this.wait(request, sinceMs)
    this.sendFor(waiter, claim).follow(answers, sinceMs)
    return waiter.promise
  }

  /** Sends a claim for a waiter in the queue. */
  protected start(waiter: Waiter): void {
    this.sendFor(waiter, this.engine.claimOf(waiter.request)).begin(this.engine.runtime.nowMs())
  }

  protected wait(request: LockRequest, sinceMs: number): Waiter {
    const waiter = new Waiter(this.engine, request, sinceMs, this)
    this.waiters.push(waiter)
    return waiter
  }

  /** Makes a lease of a grant for which no waiter was created. */
  protected abstract admit(
    claim: Claim,
    request: LockRequest,
    grant: Grant,
    sinceMs: number,
    nowMs: number,
  ): StoreLease

  protected sendFor(waiter: Waiter, claim: Claim): Acquisition {
    const acquisition = new Acquisition(this.engine, claim, waiter.request, this)
    acquisition.waiter = waiter
    waiter.acquisition = acquisition
    this.acquisitions.add(acquisition)
    return acquisition
  }

  /** Makes a hold of a granted claim. Notices find it by its id, unless the queue passes them on. */
  protected hold(claim: Claim, request: LockRequest, grant: Grant, nowMs: number): LocalHold {
    const own = claim.replaces === null ? claim : { ...claim, replaces: null }
    const hold = this.engine.hold(own, request, grant, nowMs)
    if (!this.notifies) this.engine.listen(hold)
    return hold
  }

  /** True if the hold may pass to another waiter, as far as the hold alone decides. */
  protected mayPassOn(hold: LocalHold): boolean {
    const { engine } = this
    engine.watchdog.sleeps()
    return (
      engine.settings.handover && !engine.closing && hold.autoRenew && hold.trusted(engine.runtime.nowMs())
    )
  }

  protected isFresh(hold: LocalHold): boolean {
    return isFresh(hold, this.engine.runtime.nowMs())
  }

  protected details(waiter: Waiter, acquisition: Acquisition | null): StoreError | TimeoutDetails {
    const outage = acquisition?.outageOf(waiter.request) ?? null
    const ahead = this.waiters.ahead(waiter)
    return outage ?? detailsOf(waiter.request, waiter.waitedMs, acquisition?.lastSeen() ?? null, ahead)
  }
}

/** True if a claim sent for one request can serve another: same ttl, weight and fields that operators see. */
export function servesToo({ ttlMs, meta, actor, mode }: Claim, request: LockRequest): boolean {
  return (
    ttlMs === request.ttlMs &&
    meta === request.meta &&
    actor === request.actor &&
    request.renew &&
    weightOf(mode) === weightOf(request.mode)
  )
}

export function weightOf(mode: Claim['mode']): number {
  return mode.kind === 'permits' ? mode.weight : 1
}

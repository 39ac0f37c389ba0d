import type { LockError, StoreError, TimeoutDetails } from '../../errors.ts'
import type { Blocked, Claim } from '../../model/index.ts'
import type { Engine, NoticeTarget } from '../engine.ts'
import type { LocalHold } from '../lease/hold.ts'
import { StoreLease } from '../lease/lease.ts'
import type { LeaseHome } from '../lease/release.ts'
import { type ReleaseOutcome, Releasing } from '../lease/release.ts'
import type { LockRequest } from '../options.ts'
import type { Soon, StoreNotice } from '../store.ts'
import type { Acquisition } from './acquisition.ts'
import type { Grant } from './grant.ts'
import { SpareTokens } from './grant.ts'
import { LocalQueue, servesToo, weightOf } from './local-queue.ts'
import { type Busy, busyAtOnce, detailsOf, type Waiter } from './waiter.ts'

/** The bounds of local handover while others wait for the key in the store's queue. */
const HANDOVERS_WHEN_CONTENDED = 5
const HANDOVER_MS_WHEN_CONTENDED = 1000
/** Waking another process takes about this long: a hold passed on sooner would spend most of its time on the way. */
const WORTH_A_WAKE_UP_MS = 1

/**
 * The queue for exclusive claims and for permits: the process never has more claims in the store than can be granted at
 * once, and hands them from holder to holder. Only the first waiters have a claim in the store.
 */
export class TurnQueue extends LocalQueue implements LeaseHome, NoticeTarget {
  readonly notifies: boolean
  readonly limit: number
  private readonly leases = new Set<StoreLease>()
  /** The weight of all claims in the store, held and waiting. */
  private claimed = 0
  /** The first waiter without a claim: all waiters behind it have none either. */
  private unclaimed: Waiter | null = null
  private tokens: SpareTokens | null = null
  private advancing = false

  /** `limit`: the weight that can be granted at once. `notifies`: notices find the queue by its key. */
  constructor(engine: Engine, limit: number, notifies: boolean) {
    super(engine)
    this.limit = limit
    this.notifies = notifies
  }

  get idle(): boolean {
    return this.claimed === 0 && this.waiters.length === 0
  }

  enter(request: LockRequest, claim: Claim | null = null): Soon<StoreLease | Busy> {
    if (this.unclaimed === null && this.hasRoomFor(request)) {
      this.claimed += weightOf(request.mode)
      return this.open(request, claim ?? this.engine.claimOf(request))
    }
    if (request.waitMs === 0) return busyAtOnce(this.engine, request, this.blockedHere(request))
    const waiter = this.wait(request, this.engine.runtime.nowMs())
    this.unclaimed ??= waiter
    return waiter.promise
  }

  notice(notice: StoreNotice): void {
    for (const { hold } of this.leases) if (hold.claim.id === notice.id) hold.notice(notice)
    for (const acquisition of this.acquisitions)
      if (acquisition.claim.id === notice.id) acquisition.notice(notice)
  }

  granted(acquisition: Acquisition, grant: Grant): void {
    const waiter = this.nextFor(acquisition)
    this.remove(waiter)
    const { claim } = acquisition
    const nowMs = this.engine.runtime.nowMs()
    waiter.serve(this.admit(claim, waiter.request, grant, waiter.sinceMs, nowMs))
  }

  busy(acquisition: Acquisition, blocked: Blocked): void {
    const waiter = acquisition.waiter as Waiter
    this.end(acquisition)
    this.remove(waiter)
    waiter.turnAway(detailsOf(waiter.request, waiter.waitedMs, blocked))
    this.advance()
  }

  failed(acquisition: Acquisition, error: LockError): void {
    const waiter = acquisition.waiter as Waiter
    this.end(acquisition)
    this.remove(waiter)
    waiter.fail(error)
    this.advance()
  }

  abandon(waiter: Waiter): StoreError | TimeoutDetails {
    const { acquisition } = waiter
    const asking = acquisition ?? this.acquisitions.values().next().value ?? null
    const why = asking === null ? this.blockedHere(waiter.request, waiter) : this.details(waiter, asking)
    this.remove(waiter)
    if (acquisition !== null) {
      this.reuse(acquisition)
      this.advance()
    }
    return why
  }

  release(lease: StoreLease): Soon<ReleaseOutcome> | Releasing {
    const { hold } = lease
    const next = this.waiters.first
    if (next !== null && this.leases.has(lease) && this.mayHandOver(lease, next.request)) {
      if (this.isFresh(hold)) return this.handOver(lease)
      const renewed = this.engine.watchdog.renewNow(hold)
      if (renewed instanceof Promise) return renewed.then(() => Releasing.settled(this.passOn(lease)))
    }
    return this.passOn(lease)
  }

  leave(lease: StoreLease): void {
    if (!this.leases.delete(lease)) return
    this.claimed -= weightOf(lease.request.mode)
    this.advance()
  }

  override close(quietly: boolean): void {
    super.close(quietly)
    this.unclaimed = null
  }

  protected override sendFor(waiter: Waiter, claim: Claim): Acquisition {
    if (waiter === this.unclaimed) this.unclaimed = waiter.after
    return super.sendFor(waiter, claim)
  }

  protected admit(
    claim: Claim,
    request: LockRequest,
    grant: Grant,
    sinceMs: number,
    nowMs: number,
  ): StoreLease {
    const hold = this.hold(claim, request, grant, nowMs)
    this.tokens = this.leases.size === 0 ? new SpareTokens(grant) : SpareTokens.newer(this.tokens, grant)
    return this.lease(hold, request, grant.token, sinceMs, nowMs, false)
  }

  private lease(
    hold: LocalHold,
    request: LockRequest,
    token: bigint | null,
    sinceMs: number,
    nowMs: number,
    handedOver: boolean,
  ): StoreLease {
    const lease = new StoreLease(this.engine, hold, request, token, sinceMs, nowMs, this)
    hold.user = lease
    this.leases.add(lease)
    this.engine.tellGranted(lease, handedOver)
    return lease
  }

  private hasRoomFor(request: LockRequest): boolean {
    return this.claimed + weightOf(request.mode) <= this.limit
  }

  /** Hands over if that is allowed now, perhaps after a renewal; otherwise releases the claim. */
  private passOn(lease: StoreLease): Soon<ReleaseOutcome> | Releasing {
    const { hold } = lease
    if (hold.ended) {
      this.leave(lease)
      return 'expired'
    }
    const next = this.waiters.first
    if (next !== null && this.isFresh(hold) && this.mayHandOver(lease, next.request))
      return this.handOver(lease)
    const isOurs = this.leases.delete(lease)
    if (isOurs) this.claimed -= weightOf(lease.request.mode)
    try {
      return this.engine.letGo(hold)
    } finally {
      // The release is sent; the next local claim follows it without waiting for the answer.
      if (isOurs) this.advance()
    }
  }

  private mayHandOver(lease: StoreLease, next: LockRequest): boolean {
    const { hold } = lease
    if (!lease.settled || this.tokens?.left !== true || !this.mayPassOn(hold)) return false
    if (!servesToo(hold.claim, next)) return false
    if (!hold.contended) return true
    const contendedMs = this.engine.runtime.nowMs() - hold.contendedSinceMs
    if (contendedMs < WORTH_A_WAKE_UP_MS) return true
    return hold.handovers < HANDOVERS_WHEN_CONTENDED && contendedMs < HANDOVER_MS_WHEN_CONTENDED
  }

  private handOver(lease: StoreLease): 'released' {
    const { hold } = lease
    const waiter = this.waiters.first as Waiter
    const { acquisition, request } = waiter
    this.leases.delete(lease)
    this.remove(waiter)
    if (acquisition !== null) this.reuse(acquisition)
    hold.handovers++
    const token = (this.tokens as SpareTokens).take()
    const nowMs = this.engine.runtime.nowMs()
    this.engine.watchdog.renewUntil(hold, nowMs, request.maxHoldMs)
    if (this.engine.events.has('handedOver'))
      this.engine.events.emit('handedOver', { key: request.key, token })
    waiter.serve(this.lease(hold, request, token, waiter.sinceMs, nowMs, true))
    return 'released'
  }

  /** The first in the queue, if the granted claim serves it; the waiter that this claim was sent for gets the first one's claim. */
  private nextFor(acquisition: Acquisition): Waiter {
    const own = acquisition.waiter as Waiter
    this.acquisitions.delete(acquisition)
    const first = this.waiters.first as Waiter
    const other = first.acquisition
    if (other === null || first === own) return own
    if (!canServe(acquisition, first.request) || !canServe(other, own.request)) return own
    own.acquisition = other
    other.waiter = own
    first.acquisition = acquisition
    return first
  }

  /** Gives the claim of a waiter that was served or left to the next waiter without one, or cancels it. */
  private reuse(acquisition: Acquisition): void {
    const waiter = this.unclaimed
    if (waiter !== null && canServe(acquisition, waiter.request)) {
      this.unclaimed = waiter.after
      waiter.acquisition = acquisition
      acquisition.waiter = waiter
      return
    }
    acquisition.cancel()
    this.end(acquisition)
  }

  private end(acquisition: Acquisition): void {
    this.acquisitions.delete(acquisition)
    this.claimed -= weightOf(acquisition.claim.mode)
  }

  private remove(waiter: Waiter): void {
    if (this.unclaimed === waiter) this.unclaimed = waiter.after
    this.waiters.remove(waiter)
    waiter.acquisition = null
  }

  /** Sends claims for the first waiters without one, while there is room. A store that answers at once re-enters this method. */
  private advance(): void {
    if (this.advancing) return
    this.advancing = true
    while (this.unclaimed !== null && this.hasRoomFor(this.unclaimed.request)) {
      this.claimed += weightOf(this.unclaimed.request.mode)
      this.start(this.unclaimed)
    }
    this.advancing = false
  }

  /** The state of the key when this process itself uses the whole limit. */
  private blockedHere(request: LockRequest, waiter: Waiter | null = null): TimeoutDetails {
    const ahead = waiter === null ? this.waiters.length : this.waiters.ahead(waiter)
    const lease = this.leases.values().next().value
    const asking = this.acquisitions.values().next().value
    const waitedMs = waiter?.waitedMs ?? 0
    if (lease === undefined) return detailsOf(request, waitedMs, asking?.lastSeen() ?? null, ahead)
    return {
      key: request.key,
      waitedMs,
      holder: this.engine.settings.label,
      heldMs: this.engine.runtime.nowMs() - lease.grantedAtMs,
      heldHere: true,
      answered: true,
      position: ahead + 1,
    }
  }
}

function canServe({ claim, request }: Acquisition, next: LockRequest): boolean {
  return claim.queue && request.renew && servesToo(claim, next)
}

import type { LeaseLostError, LockError, StoreError, TimeoutDetails } from '../../errors.ts'
import { UnsupportedError } from '../../errors.ts'
import type { Blocked, Claim } from '../../model/index.ts'
import type { EndCause, HoldUser, LocalHold } from '../lease/hold.ts'
import { StoreLease } from '../lease/lease.ts'
import type { LeaseHome, ReleaseOutcome, Releasing } from '../lease/release.ts'
import type { LockRequest } from '../options.ts'
import type { Soon } from '../store.ts'
import type { Acquisition } from './acquisition.ts'
import type { Grant } from './grant.ts'
import { SpareTokens } from './grant.ts'
import { LocalQueue, servesToo } from './local-queue.ts'
import { type Busy, detailsOf, type Waiter } from './waiter.ts'

/** The most leases that one grant serves: its own token and the spare ones. */
const MOST_TOGETHER = 256

/**
 * The readers of one process share one shared hold, each with its own token, until another process waits. The readers
 * after that queue behind that waiter, with a claim of their own.
 */
export class ReaderQueue extends LocalQueue {
  readonly notifies = false
  /** The hold that the next readers may share. */
  private current: SharedHold | null = null
  /** The last claim that was sent. */
  private latest: Acquisition | null = null
  /** A writer of this process waited already when the last claim was sent. */
  private latestBehindWriter = false
  private readonly waitersOf = new Map<Acquisition, Set<Waiter>>()
  private holds = 0

  get idle(): boolean {
    return this.holds === 0 && this.waiters.length === 0
  }

  /** `behindWriter`: a writer of this process waits for the key, and the notice about it may not have arrived. */
  enter(request: LockRequest, behindWriter = false): Soon<StoreLease | Busy> {
    if (behindWriter) this.current = null
    const shared = this.current
    const nowMs = this.engine.runtime.nowMs()
    if (shared !== null && this.mayJoin(shared, request)) return this.join(shared, request, nowMs, nowMs)
    const { latest } = this
    const overtakes = behindWriter && !this.latestBehindWriter
    if (latest === null || overtakes || !this.mayWaitFor(latest, request)) {
      this.latestBehindWriter = behindWriter
      return this.open(request, this.engine.claimOf(request))
    }
    const waiter = this.wait(request, nowMs)
    waiter.acquisition = latest
    this.waitersOf.get(latest)?.add(waiter)
    return waiter.promise
  }

  granted(acquisition: Acquisition, grant: Grant): void {
    const waiters = this.takeWaiters(acquisition)
    const nowMs = this.engine.runtime.nowMs()
    const shared = this.share(acquisition.claim, acquisition.request, grant, nowMs)
    let first = true
    for (const waiter of waiters) {
      const { request, sinceMs } = waiter
      const lease = first
        ? this.lease(shared, request, grant.token, sinceMs, nowMs, false)
        : this.join(shared, request, sinceMs, nowMs)
      first = false
      waiter.serve(lease)
    }
  }

  busy(acquisition: Acquisition, blocked: Blocked): void {
    for (const waiter of this.takeWaiters(acquisition))
      waiter.turnAway(detailsOf(waiter.request, waiter.waitedMs, blocked))
  }

  failed(acquisition: Acquisition, error: LockError): void {
    for (const waiter of this.takeWaiters(acquisition)) waiter.fail(error)
  }

  abandon(waiter: Waiter): StoreError | TimeoutDetails {
    const acquisition = waiter.acquisition as Acquisition
    const why = this.details(waiter, acquisition)
    this.waiters.remove(waiter)
    waiter.acquisition = null
    const others = this.waitersOf.get(acquisition)
    others?.delete(waiter)
    if (others?.size === 0) {
      this.takeWaiters(acquisition)
      acquisition.cancel()
    }
    return why
  }

  /** Releases a hold after its last reader left. */
  give(shared: SharedHold): Soon<ReleaseOutcome> | Releasing {
    this.forget(shared)
    return this.engine.letGo(shared.hold)
  }

  /** No other reader may share the hold from now on. */
  forget(shared: SharedHold): void {
    if (shared.over) return
    shared.over = true
    this.holds--
    if (this.current === shared) this.current = null
  }

  protected override sendFor(waiter: Waiter, claim: Claim): Acquisition {
    const acquisition = super.sendFor(waiter, claim)
    this.latest = acquisition
    this.waitersOf.set(acquisition, new Set([waiter]))
    return acquisition
  }

  protected admit(
    claim: Claim,
    request: LockRequest,
    grant: Grant,
    sinceMs: number,
    nowMs: number,
  ): StoreLease {
    const shared = this.share(claim, request, grant, nowMs)
    return this.lease(shared, request, grant.token, sinceMs, nowMs, false)
  }

  private share(claim: Claim, request: LockRequest, grant: Grant, nowMs: number): SharedHold {
    const hold = this.hold(claim, request, grant, nowMs)
    const shared = new SharedHold(hold, new SpareTokens(grant), this)
    hold.user = shared
    this.current = shared
    this.holds++
    return shared
  }

  private join(shared: SharedHold, request: LockRequest, sinceMs: number, nowMs: number): StoreLease {
    const token = shared.tokens.take()
    if (this.engine.events.has('handedOver'))
      this.engine.events.emit('handedOver', { key: request.key, token })
    return this.lease(shared, request, token, sinceMs, nowMs, true)
  }

  private lease(
    shared: SharedHold,
    request: LockRequest,
    token: bigint | null,
    sinceMs: number,
    nowMs: number,
    joined: boolean,
  ): StoreLease {
    const lease = new StoreLease(this.engine, shared.hold, request, token, sinceMs, nowMs, shared)
    shared.leases.add(lease)
    this.engine.tellGranted(lease, joined)
    return lease
  }

  private mayJoin({ hold, tokens, closed }: SharedHold, request: LockRequest): boolean {
    if (closed || hold.contended || !tokens.left || !servesToo(hold.claim, request)) return false
    return this.mayPassOn(hold) && this.isFresh(hold)
  }

  /** A claim for a single attempt cannot wait, and the other way round. */
  private mayWaitFor({ claim, request }: Acquisition, next: LockRequest): boolean {
    if (claim.queue !== next.waitMs > 0 || !request.renew || !servesToo(claim, next)) return false
    return (this.waitersOf.get(this.latest as Acquisition)?.size ?? 0) < MOST_TOGETHER
  }

  private takeWaiters(acquisition: Acquisition): Iterable<Waiter> {
    const waiters = this.waitersOf.get(acquisition) ?? []
    this.waitersOf.delete(acquisition)
    this.acquisitions.delete(acquisition)
    if (this.latest === acquisition) this.latest = null
    for (const waiter of waiters) {
      this.waiters.remove(waiter)
      waiter.acquisition = null
    }
    return waiters
  }
}

/** One shared hold in the store, and the leases of its readers. */
class SharedHold implements HoldUser, LeaseHome {
  readonly hold: LocalHold
  readonly tokens: SpareTokens
  readonly leases = new Set<StoreLease>()
  /** The hold ended, or its last reader left. */
  over = false
  /** A reader serialised its lease: no other reader may join. */
  closed = false
  private readonly queue: ReaderQueue

  constructor(hold: LocalHold, tokens: SpareTokens, queue: ReaderQueue) {
    this.hold = hold
    this.tokens = tokens
    this.queue = queue
  }

  holdLost(cause: EndCause, error: LeaseLostError): void {
    this.queue.forget(this)
    for (const lease of [...this.leases]) lease.holdLost(cause, error)
  }

  holdRevoked(): void {
    for (const lease of [...this.leases]) lease.holdRevoked()
  }

  release(lease: StoreLease): Soon<ReleaseOutcome> | Releasing {
    this.leases.delete(lease)
    if (this.hold.ended) return 'expired'
    return this.leases.size > 0 ? 'released' : this.queue.give(this)
  }

  leave(lease: StoreLease): void {
    this.leases.delete(lease)
  }

  /** Never shortens the life that the other readers were promised. */
  longerTtl(ttlMs: number): number {
    return this.leases.size > 1 ? Math.max(ttlMs, this.hold.claim.ttlMs) : ttlMs
  }

  serialising(): void {
    if (this.leases.size > 1)
      throw new UnsupportedError(
        'this lease shares its hold with other readers of the process, so it cannot go to another process alone: create the locks with `handover: false`',
      )
    this.closed = true
  }
}

import { InvalidArgumentError } from '../errors.ts'
import type { Claim, LossCause } from '../model/index.ts'
import type { Grant } from './acquire/grant.ts'
import { Heartbeats } from './acquire/heartbeat.ts'
import { StoreClient } from './calls/store-client.ts'
import { TimerHeap } from './calls/timer-heap.ts'
import { hasMethods } from './check.ts'
import { show } from './durations.ts'
import { combined, Events, LOCK_EVENTS, type Meter } from './events.ts'
import { CleanupQueue } from './lease/cleanup-queue.ts'
import { type EndCause, type HoldKeeper, LocalHold } from './lease/hold.ts'
import type { StoreLease } from './lease/lease.ts'
import { type ReleaseOutcome, Releasing } from './lease/release.ts'
import { Watchdog } from './lease/watchdog.ts'
import type { LockRequest, Settings } from './options.ts'
import { Actors } from './reentry/actors.ts'
import type { Runtime } from './runtime.ts'
import type { Store, StoreNotice, StoreWarning } from './store.ts'

/** Receives the notices about a claim. */
export interface NoticeTarget {
  notice(notice: StoreNotice): void
}

/** The shared state of one `Locks` object. */
export class Engine implements HoldKeeper {
  readonly store: Store
  readonly settings: Settings
  readonly runtime: Runtime
  readonly events = new Events(LOCK_EVENTS)
  readonly client: StoreClient
  readonly watchdog: Watchdog
  readonly cleanup: CleanupQueue
  /** Deadlines of waiters: unlike the watchdog's, they keep the process alive. */
  readonly waits: TimerHeap
  readonly heartbeats: Heartbeats
  /** Receivers of notices, by claim id. Exclusive claims are found by key: indexing them by id would churn a map on every lock (0052). */
  readonly targets = new Map<string, NoticeTarget>()
  /** Null without deadlock detection. */
  readonly actors: Actors | null
  /** The number of waiting claims that will attempt again by themselves. */
  looking = 0
  closing = false
  /** The releases under way: closing waits for them. */
  private releasing = 0
  private whenReleased: (() => void) | null = null
  byKey: NoticeTarget | null = null
  /** Counts grants and releases; null without a listener. */
  meter: Meter | null = null
  private meters: readonly Meter[] = []
  private readonly stopNotices: () => void

  constructor(store: Store, settings: Settings) {
    this.store = store
    this.settings = settings
    this.runtime = settings.runtime
    store.setCallTimeout?.(settings.callTimeoutMs)
    this.client = new StoreClient(store, this.runtime, this.events, settings.callTimeoutMs)
    this.watchdog = new Watchdog(this.client, this.runtime, this.events, (hold, cause) =>
      this.lost(hold, cause),
    )
    this.cleanup = new CleanupQueue(this.client, this.runtime)
    this.waits = new TimerHeap(this.runtime, false)
    this.heartbeats = new Heartbeats(this.client, this.runtime, this.waits, () => this.watchdog.sleeps())
    const { actorSuffix } = settings
    this.actors = actorSuffix === '' ? null : new Actors(actorSuffix.slice(1), this.runtime, this.events)
    this.stopNotices = store.notices((notice) => {
      if (notice.kind === 'warning') warn(this.events, notice)
      else (this.targets.get(notice.id) ?? this.byKey)?.notice(notice)
    })
  }

  /** The request with its actor frame and event reference. */
  announced(request: LockRequest): LockRequest {
    const tracked = this.actors === null ? request : this.actors.track(request)
    if (!this.events.has('entered')) return tracked
    const ref = {}
    this.events.emit('entered', { key: request.key, ref })
    return { ...tracked, ref }
  }

  addMeter(meter: Meter): () => void {
    if (!hasMethods(meter, ['granted']))
      throw new InvalidArgumentError('meter', `must be an object with a method granted, not ${show(meter)}`)
    const change = (meters: readonly Meter[]): void => {
      this.meters = meters
      this.meter = combined(meters)
    }
    change([...this.meters, meter])
    return () => change(this.meters.filter((each) => each !== meter))
  }

  tellGranted(lease: StoreLease, handedOver: boolean): void {
    const { key, token, waitedMs, request } = lease
    if (this.meter !== null) lease.meter = this.meter.granted(key, waitedMs, handedOver)
    if (this.events.has('granted'))
      this.events.emit('granted', {
        key,
        token,
        waitedMs,
        handedOver,
        ttlMs: request.ttlMs,
        ref: request.ref,
      })
  }

  claimOf(request: LockRequest): Claim {
    return {
      key: request.storeKey,
      id: this.runtime.newId(),
      mode: request.mode,
      ttlMs: request.ttlMs,
      queue: request.waitMs > 0 && request.spin === null,
      owner: request.owner,
      actor: request.actor,
      label: this.settings.label,
      meta: request.meta,
      lockDelayMs: this.settings.lockDelayMs,
      group: null,
      replaces: null,
    }
  }

  /** Makes a granted claim a hold that the watchdog keeps alive. */
  hold(claim: Claim, request: LockRequest, grant: Grant, nowMs: number): LocalHold {
    const hold = new LocalHold(claim, request.key, grant, request.renew, nowMs, this)
    hold.renewUntilMs = nowMs + request.maxHoldMs
    this.watchdog.watch(hold, nowMs)
    return hold
  }

  /** Lets notices find the hold by its claim's id. */
  listen(hold: LocalHold): void {
    hold.listed = true
    this.targets.set(hold.claim.id, hold)
  }

  /** Stops renewing, waits for a renewal under way, then compares and deletes. */
  letGo(hold: LocalHold): ReleaseOutcome | Releasing {
    const { renewing } = hold
    this.watchdog.unwatch(hold)
    if (hold.listed) this.targets.delete(hold.claim.id)
    if (renewing === null && this.client.immediate) return this.releaseNow(hold)
    const releasing = new Releasing(this, hold)
    if (renewing === null) this.client.postRelease(hold.claim, releasing)
    else releasing.follow(renewing.then(() => this.client.release([hold.claim])))
    return releasing
  }

  releaseBegan(): void {
    this.releasing++
  }

  releaseEnded(): void {
    this.releasing--
    if (this.releasing === 0) this.whenReleased?.()
  }

  async close(): Promise<void> {
    this.stopNotices()
    this.watchdog.stop()
    this.waits.clear()
    this.targets.clear()
    if (this.releasing > 0)
      await new Promise<void>((resolve) => {
        this.whenReleased = resolve
      })
    await this.cleanup.close()
    await this.actors?.watcher?.close()
    this.client.close()
    await this.store.close()
    this.events.clear()
  }

  /** Handles a notice about a claim that is held. */
  notice(hold: LocalHold, notice: StoreNotice): void {
    if (notice.kind === 'contended') hold.noteContended(this.runtime.nowMs(), true)
    else if (notice.kind === 'revoked') hold.user?.holdRevoked()
    else if (notice.kind === 'lost') this.noticeLost(hold, notice.cause)
  }

  private releaseNow(hold: LocalHold): ReleaseOutcome | Releasing {
    let answers: ReturnType<StoreClient['release']>
    try {
      answers = this.client.release([hold.claim])
    } catch (error) {
      this.cleanup.release(hold.claim)
      throw error
    }
    if (!(answers instanceof Promise)) return answers[0]?.kind === 'released' ? 'released' : 'expired'
    return new Releasing(this, hold).follow(answers)
  }

  /** A hold that ended by our own deadline may live on in the store until its ttl there: free it sooner. */
  private lost(hold: LocalHold, cause: EndCause): void {
    if (hold.listed) this.targets.delete(hold.claim.id)
    // With a lock delay the claim must expire in the store, or the key would not stay closed.
    if (cause === 'deadline' && hold.claim.lockDelayMs === 0) this.cleanup.release(hold.claim)
  }

  private noticeLost(hold: LocalHold, cause: LossCause): void {
    if (hold.ended) return
    // A late notice of an expiry may be about an earlier hold of the same claim: the renewal tells.
    if (cause === 'expired') void this.watchdog.renewNow(hold)
    else this.watchdog.lose(hold, cause)
  }
}

const warned = new Set<string>()

/** Emits a warning; without a listener, the process warns once. */
function warn(events: Events, { code, message }: StoreWarning): void {
  if (events.has('warning')) {
    events.emit('warning', { code, message })
    return
  }
  if (warned.has(message)) return
  warned.add(message)
  process.emitWarning(message, { type: 'HoldfastWarning', code })
}

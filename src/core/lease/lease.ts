import type { LeaseLostError } from '../../errors.ts'
import type { ClaimAnswer } from '../../model/index.ts'
import type { Duration, LeaseJson, WriteLease } from '../api.ts'
import { checkListener } from '../check.ts'
import { durationMs } from '../durations.ts'
import type { Engine } from '../engine.ts'
import type { HoldMeter } from '../events.ts'
import { type LockRequest, SHARED, SHORTEST_TTL_MS } from '../options.ts'
import type { Soon } from '../store.ts'
import { leaseJson } from './adoption.ts'
import { type EndCause, type HoldUser, type LocalHold, lostError, validUntil } from './hold.ts'
import { type LeaseHome, type ReleaseOutcome, Releasing } from './release.ts'

const LEASE_EVENTS = { revoked: true }

/** A lease on one key. `held -> released | lost`, once. */
export class StoreLease implements WriteLease, HoldUser {
  readonly key: string
  readonly token: bigint | null
  readonly waitedMs: number
  readonly request: LockRequest
  readonly hold: LocalHold
  readonly grantedAtMs: number
  private readonly engine: Engine
  private home: LeaseHome | null
  private state: 'held' | 'released' | 'lost' = 'held'
  private outcome: Soon<ReleaseOutcome> | null = null
  /** The error of a release with an unknown outcome. */
  private failure: unknown = null
  /** The store did not know the lease before its deadline. */
  private goneAtRelease = false
  private lost: LeaseLostError | null = null
  private controller: AbortController | null = null
  private revokedListeners: Set<() => void> | null = null
  private wasRevoked = false
  /** A call of the holder that is under way: awaited before another user gets the hold. */
  private inFlight: Promise<unknown> | null = null
  /** Known to another process: never handed over inside this one. */
  serialised = false
  /** Counts the release, if there is a meter. */
  meter: HoldMeter | null = null

  constructor(
    engine: Engine,
    hold: LocalHold,
    request: LockRequest,
    token: bigint | null,
    sinceMs: number,
    grantedAtMs: number,
    home: LeaseHome | null,
  ) {
    this.engine = engine
    this.hold = hold
    this.request = request
    this.key = request.key
    this.token = token
    this.waitedMs = grantedAtMs - sinceMs
    this.home = home
    this.grantedAtMs = grantedAtMs
    request.frame?.holds(this)
  }

  get id(): string {
    return this.hold.claim.id
  }

  get acquiredAt(): Date {
    return new Date(this.engine.runtime.wallMs() - this.heldMs)
  }

  get held(): boolean {
    return this.state === 'held' && this.hold.trusted(this.nowMs())
  }

  /** Released or lost; a lease in doubt has not ended. */
  get ended(): boolean {
    return this.state !== 'held'
  }

  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.lost !== null) this.controller.abort(this.lost)
    }
    return this.controller.signal
  }

  /** True if another waiter of this process may take over the hold right now. */
  get settled(): boolean {
    return this.inFlight === null && !this.serialised
  }

  remainingMs(): number {
    return this.state === 'held' ? this.hold.remainingMs(this.nowMs()) : 0
  }

  assertHeld(): void {
    if (!this.held) throw this.lost ?? lostError(this.key, this.state === 'released' ? 'expired' : 'deadline')
  }

  async extend(ttl: Duration): Promise<void> {
    const wantedMs = durationMs('ttl', ttl, { minMs: SHORTEST_TTL_MS, maxMs: this.engine.settings.maxTtlMs })
    const { hold, engine } = this
    this.assertOpen()
    while (hold.renewing !== null) await hold.renewing
    this.assertOpen()
    const ttlMs = this.home?.longerTtl?.(wantedMs) ?? wantedMs
    hold.become({ ...hold.claim, ttlMs })
    // A shorter life counts from the request, whatever its outcome.
    hold.validUntilMs = Math.min(hold.validUntilMs, validUntil(engine.runtime.nowMs(), ttlMs))
    await this.track(engine.watchdog.renewNow(hold))
    this.assertOpen()
    if (hold.renewError !== null) throw hold.renewError
  }

  async downgrade(): Promise<void> {
    this.assertOpen()
    const { hold, engine } = this
    // It replaces itself: a hold that is gone is refused, not created anew.
    const claim = { ...hold.claim, mode: SHARED, queue: false, replaces: hold.claim.id }
    const sentAtMs = engine.runtime.nowMs()
    const sleeps = engine.watchdog.sleeps()
    const answers = this.track(engine.client.attempt([claim]))
    // The downgrade may be done whatever the reply: from here on the lease is a reader's and is not handed over.
    hold.become({ ...claim, replaces: null })
    if (this.home !== null) {
      engine.listen(hold)
      this.home.leave(this)
      this.home = null
    }
    const [answer] = (await answers) as readonly [ClaimAnswer]
    if (answer.kind !== 'granted') {
      engine.watchdog.lose(hold, 'expired')
      throw this.lost ?? lostError(this.key, 'expired')
    }
    if (engine.watchdog.sleeps() !== sleeps) return
    hold.validUntilMs = Math.max(hold.validUntilMs, validUntil(sentAtMs, claim.ttlMs))
  }

  release(): Promise<ReleaseOutcome> {
    try {
      return Promise.resolve(this.releaseSoon())
    } catch (error) {
      return Promise.reject(error)
    }
  }

  releaseSoon(): Soon<ReleaseOutcome> {
    if (this.state === 'lost') return 'expired'
    if (this.outcome !== null) return this.outcome
    if (this.inFlight === null) return this.finish()
    const finish = () => this.finish()
    this.outcome = this.inFlight.then(finish, finish)
    return this.outcome
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.releaseSoon()
    } catch {
      // `releaseFailed` was emitted; disposal must not mask the error of the work.
    }
  }

  /** Renews a lease in doubt. For `using`, when the work has settled, and for re-entry. */
  proveSoon(): Soon<void> {
    if (this.state !== 'held') return
    const nowMs = this.nowMs()
    if (this.hold.trusted(nowMs)) return
    if (nowMs >= this.hold.validUntilMs) this.engine.watchdog.lose(this.hold, 'deadline')
    else {
      // A renewal that is merely under way proves nothing yet.
      this.hold.doubted = true
      return this.engine.watchdog.renewNow(this.hold)
    }
  }

  /** The error of a lease that ended before its release; else null. */
  get lossError(): LeaseLostError | null {
    if (this.lost !== null) return this.lost
    return this.goneAtRelease ? lostError(this.key, 'expired') : null
  }

  on(event: 'revoked', listener: () => void): () => void {
    checkListener(event, listener, LEASE_EVENTS)
    this.revokedListeners ??= new Set()
    this.revokedListeners.add(listener)
    if (this.wasRevoked) this.engine.runtime.defer(listener)
    return () => this.revokedListeners?.delete(listener)
  }

  toJSON(): LeaseJson {
    this.home?.serialising?.()
    this.serialised = true
    return leaseJson(this.key, this.token, this.hold.claim)
  }

  holdLost(cause: EndCause, error: LeaseLostError): void {
    if (this.state !== 'held') return
    this.state = 'lost'
    this.request.frame?.holdsNoMore()
    this.lost = error
    const { key, token, heldMs, request } = this
    this.engine.events.emit('lost', { key, token, cause, heldMs, ref: request.ref })
    this.home?.leave(this)
    this.controller?.abort(error)
  }

  holdRevoked(): void {
    if (this.state !== 'held') return
    this.wasRevoked = true
    this.engine.events.emit('revoked', { key: this.key, token: this.token })
    for (const listener of this.revokedListeners ?? []) this.engine.runtime.defer(listener)
  }

  private finish(): Soon<ReleaseOutcome> {
    if (this.state === 'lost') return 'expired'
    if (this.failure !== null) throw this.failure
    this.state = 'released'
    this.request.frame?.holdsNoMore()
    let outcome: Soon<ReleaseOutcome> | Releasing
    try {
      outcome = this.home === null ? this.engine.letGo(this.hold) : this.home.release(this)
    } catch (error) {
      this.releaseFailed(error)
      throw error
    }
    if (outcome instanceof Releasing) {
      this.outcome = outcome.promise
      outcome.tells(this)
    } else if (outcome instanceof Promise) {
      this.outcome = outcome.then(
        (known) => {
          this.released(known)
          return known
        },
        (error) => {
          this.releaseFailed(error)
          throw error
        },
      )
    } else {
      this.released(outcome)
      return outcome
    }
    return this.outcome
  }

  released(outcome: ReleaseOutcome): void {
    this.outcome = outcome
    // An answer after the deadline says nothing about the time of the work.
    this.goneAtRelease = outcome === 'expired' && this.engine.runtime.nowMs() < this.hold.validUntilMs
    this.meter?.released(this.heldMs, outcome)
    if (this.engine.events.has('released')) {
      const { key, token, heldMs, request } = this
      this.engine.events.emit('released', { key, token, heldMs, outcome, ref: request.ref })
    }
  }

  releaseFailed(error: unknown): void {
    this.failure = error
    const { key, token, heldMs, request } = this
    this.engine.events.emit('releaseFailed', { key, token, heldMs, error, ref: request.ref })
  }

  /** The monotonic time, after a check for a sleep that it did not count. */
  private nowMs(): number {
    this.engine.watchdog.sleeps()
    return this.engine.runtime.nowMs()
  }

  private get heldMs(): number {
    return this.engine.runtime.nowMs() - this.grantedAtMs
  }

  private assertOpen(): void {
    if (this.state === 'lost') throw this.lost
    if (this.state === 'released') throw lostError(this.key, 'expired')
    if (this.engine.closing) throw lostError(this.key, 'closed')
  }

  private async track<T>(work: Soon<T>): Promise<T> {
    if (!(work instanceof Promise)) return work
    this.inFlight = work
    try {
      return await work
    } finally {
      if (this.inFlight === work) this.inFlight = null
    }
  }
}

import type { LeaseLostError } from '../../errors.ts'
import type { ClaimAnswer } from '../../model/index.ts'
import type { Duration, LeaseJson, WriteLease } from '../api.ts'
import { checkListener } from '../check.ts'
import { durationMs } from '../durations.ts'
import type { Engine } from '../engine.ts'
import type { HoldMeter } from '../meter.ts'
import { type Request, SHARED, SHORTEST_TTL_MS } from '../options.ts'
import type { Soon } from '../store.ts'
import { leaseJson } from './adoption.ts'
import { driftMs, type EndCause, type Hold, type HoldUser, lostError } from './hold.ts'
import { type Outcome, Releasing } from './release.ts'

/** The local queue or the shared hold that a lease goes back to. */
export interface LeaseHome {
  release(lease: StoreLease): Soon<Outcome> | Releasing
  /** The hold is over or no longer exclusive; the next in line may go for the key. */
  leave(lease: StoreLease): void
  /** The ttl that the hold gets when the lease asks for this one. */
  longerTtl(lease: StoreLease, ttlMs: number): number
  /** The lease becomes text that another process may adopt it by. */
  serialising(lease: StoreLease): void
}

const LEASE_EVENTS = { revoked: true }

/** A lease on one key. `held -> released | lost`, once. */
export class StoreLease implements WriteLease, HoldUser {
  readonly key: string
  readonly token: bigint | null
  readonly waitedMs: number
  readonly request: Request
  readonly hold: Hold
  readonly grantedAtMs: number
  private readonly engine: Engine
  private home: LeaseHome | null
  private state: 'held' | 'released' | 'lost' = 'held'
  private outcome: Soon<Outcome> | null = null
  /** Why the outcome of the release is unknown. */
  private failure: unknown = null
  /** The store did not know the lease although it should have lived on. */
  private goneAtRelease = false
  private lost: LeaseLostError | null = null
  private controller: AbortController | null = null
  private revokedListeners: Set<() => void> | null = null
  private wasRevoked = false
  /** What the holder has under way in the store: awaited before the hold goes to anybody else. */
  private inFlight: Promise<unknown> | null = null
  /** Known to another process: never handed over inside this one. */
  serialised = false
  /** Counts the release, if anybody counts. */
  meter: HoldMeter | null = null

  constructor(
    engine: Engine,
    hold: Hold,
    request: Request,
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
    const { runtime } = this.engine
    return new Date(runtime.wallMs() - (runtime.nowMs() - this.grantedAtMs))
  }

  get held(): boolean {
    return this.state === 'held' && this.hold.trusted(this.nowMs())
  }

  /** It was released or lost; a lease that is merely in doubt has not ended. */
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

  /** Whether the holder may be replaced by another one of this process right now. */
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
    const ttlMs = this.home?.longerTtl(this, wantedMs) ?? wantedMs
    hold.become({ ...hold.claim, ttlMs })
    // A shorter life counts from the moment it is asked for, whatever becomes of the request.
    hold.validUntilMs = Math.min(hold.validUntilMs, engine.runtime.nowMs() + ttlMs - driftMs(ttlMs))
    await this.track(engine.watchdog.renewNow(hold))
    this.assertOpen()
    if (hold.renewError !== null) throw hold.renewError
  }

  async downgrade(): Promise<void> {
    this.assertOpen()
    const { hold, engine } = this
    // Replacing itself: a hold that is gone is refused, not made anew.
    const claim = { ...hold.claim, mode: SHARED, queue: false, replaces: hold.claim.id }
    const sentAtMs = engine.runtime.nowMs()
    const sleeps = engine.watchdog.sleeps()
    const answers = this.track(engine.courier.attempt([claim]))
    // Once asked for, it may be done whatever the reply: from here on the lease is a reader's and nobody's to hand over.
    hold.become({ ...claim, replaces: null })
    this.detach()
    const [answer] = (await answers) as readonly [ClaimAnswer]
    if (answer.kind !== 'granted') {
      engine.watchdog.lose(hold, 'expired')
      throw this.lost ?? lostError(this.key, 'expired')
    }
    if (engine.watchdog.sleeps() !== sleeps) return
    hold.validUntilMs = Math.max(hold.validUntilMs, sentAtMs + claim.ttlMs - driftMs(claim.ttlMs))
  }

  release(): Promise<Outcome> {
    try {
      return Promise.resolve(this.releaseSoon())
    } catch (error) {
      return Promise.reject(error)
    }
  }

  releaseSoon(): Soon<Outcome> {
    if (this.state === 'lost') return 'expired'
    if (this.outcome !== null) return this.outcome
    if (this.inFlight !== null) {
      this.outcome = this.inFlight.then(
        () => this.finish(),
        () => this.finish(),
      )
      return this.outcome
    }
    return this.finish()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.releaseSoon()
    } catch {
      // Told as a `releaseFailed` event; disposal must not mask the error that may be on its way.
    }
  }

  /** For `using`, when the work has settled, and for re-entry: is the lease still ours, after all? */
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

  /** Why the lease ended before it was released, if it did. */
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
    this.home?.serialising(this)
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

  private finish(): Soon<Outcome> {
    if (this.state === 'lost') return 'expired'
    if (this.failure !== null) throw this.failure
    this.state = 'released'
    this.request.frame?.holdsNoMore()
    let outcome: Soon<Outcome> | Releasing
    try {
      outcome = this.home === null ? this.engine.letGo(this.hold) : this.home.release(this)
    } catch (error) {
      this.tellFailed(error)
      throw error
    }
    if (outcome instanceof Releasing) {
      this.outcome = outcome.promise
      outcome.tells(this)
    } else if (outcome instanceof Promise) {
      this.outcome = outcome.then(
        (known) => {
          this.tell(known)
          return known
        },
        (error) => {
          this.tellFailed(error)
          throw error
        },
      )
    } else {
      this.tell(outcome)
      return outcome
    }
    return this.outcome
  }

  tell(outcome: Outcome): void {
    this.outcome = outcome
    // A release that was answered after the deadline says nothing about the time of the work.
    this.goneAtRelease = outcome === 'expired' && this.engine.runtime.nowMs() < this.hold.validUntilMs
    this.meter?.released(this.heldMs, outcome)
    if (this.engine.events.has('released')) {
      const { key, token, heldMs, request } = this
      this.engine.events.emit('released', { key, token, heldMs, outcome, ref: request.ref })
    }
  }

  tellFailed(error: unknown): void {
    this.failure = error
    const { key, token, heldMs, request } = this
    this.engine.events.emit('releaseFailed', { key, token, heldMs, error, ref: request.ref })
  }

  /** The monotonic time, after a look for a sleep that it did not count. */
  private nowMs(): number {
    this.engine.watchdog.sleeps()
    return this.engine.runtime.nowMs()
  }

  private get heldMs(): number {
    return this.engine.runtime.nowMs() - this.grantedAtMs
  }

  private detach(): void {
    if (this.home === null) return
    this.engine.listen(this.hold)
    this.home.leave(this)
    this.home = null
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

import { StoreError } from '../errors.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../model/index.ts'
import type { Events, LockEvents } from './events.ts'
import type { Runtime } from './runtime.ts'
import type { Soon, Store } from './store.ts'

type Call = LockEvents['storeFailed']['call']
type Send<A> = (claims: readonly Claim[]) => Soon<readonly A[]>

interface Parcel<A> {
  readonly claims: readonly Claim[]
  readonly resolve: (answers: readonly A[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Carries claims to the store: those of one tick travel as one call, every call has our own deadline, and whatever
 * goes wrong comes back as a `StoreError`, which means that the outcome is unknown.
 */
export class Courier {
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly events: Events
  private readonly callTimeoutMs: number
  private readonly attempts: Parcel<ClaimAnswer>[] = []
  private readonly releases: Parcel<ReleaseAnswer>[] = []
  private scheduled = false

  constructor(store: Store, runtime: Runtime, events: Events, callTimeoutMs: number) {
    this.store = store
    this.runtime = runtime
    this.events = events
    this.callTimeoutMs = callTimeoutMs
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimAnswer[]> {
    if (this.store.traits.immediate)
      return this.call('attempt', claims, this.store.attempt, this.callTimeoutMs)
    return this.post(this.attempts, claims)
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseAnswer[]> {
    if (this.store.traits.immediate)
      return this.call('release', claims, this.store.release, this.callTimeoutMs)
    return this.post(this.releases, claims)
  }

  renew(claims: readonly Claim[], timeoutMs: number): Soon<readonly RenewAnswer[]> {
    return this.call('renew', claims, this.store.renew, Math.min(timeoutMs, this.callTimeoutMs))
  }

  private post<A>(parcels: Parcel<A>[], claims: readonly Claim[]): Promise<readonly A[]> {
    return new Promise((resolve, reject) => {
      parcels.push({ claims, resolve, reject })
      if (this.scheduled) return
      this.scheduled = true
      this.runtime.defer(this.flush)
    })
  }

  /** Releases go first: what they free may be what the attempts of the same tick ask for. */
  private readonly flush = (): void => {
    this.scheduled = false
    this.dispatch('release', this.releases.splice(0), this.store.release)
    this.dispatch('attempt', this.attempts.splice(0), this.store.attempt)
  }

  private dispatch<A>(call: Call, parcels: Parcel<A>[], send: Send<A>): void {
    if (parcels.length === 0) return
    const claims =
      parcels.length === 1 ? (parcels[0] as Parcel<A>).claims : parcels.flatMap((parcel) => parcel.claims)
    const deliver = (answers: readonly A[]): void => {
      let from = 0
      for (const parcel of parcels) {
        const to = from + parcel.claims.length
        parcel.resolve(answers.slice(from, to))
        from = to
      }
    }
    const fail = (error: unknown): void => {
      for (const parcel of parcels) parcel.reject(error)
    }
    try {
      const answers = this.call(call, claims, send, this.callTimeoutMs)
      if (answers instanceof Promise) answers.then(deliver, fail)
      else deliver(answers)
    } catch (error) {
      fail(error)
    }
  }

  private call<A>(
    call: Call,
    claims: readonly Claim[],
    send: Send<A>,
    timeoutMs: number,
  ): Soon<readonly A[]> {
    let answers: Soon<readonly A[]>
    try {
      answers = send.call(this.store, claims)
    } catch (error) {
      throw this.failed(call, claims, error)
    }
    return answers instanceof Promise ? this.bounded(call, claims, answers, timeoutMs) : answers
  }

  /** The clients' own time-outs do not cover a frozen server; ours does. */
  private bounded<A>(
    call: Call,
    claims: readonly Claim[],
    answers: Promise<readonly A[]>,
    timeoutMs: number,
  ): Promise<readonly A[]> {
    return new Promise((resolve, reject) => {
      const timer = this.runtime.setTimer(
        () => reject(this.failed(call, claims, new Error(`no answer within ${Math.round(timeoutMs)} ms`))),
        timeoutMs,
        false,
      )
      answers.then(
        (value) => {
          timer.clear()
          resolve(value)
        },
        (error) => {
          timer.clear()
          reject(this.failed(call, claims, error))
        },
      )
    })
  }

  private failed(call: Call, claims: readonly Claim[], error: unknown): StoreError {
    this.events.emit('storeFailed', { call, claims: claims.length, error })
    if (error instanceof StoreError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new StoreError(`the ${this.store.traits.name} store failed to ${call}: ${why}`, { cause: error })
  }
}

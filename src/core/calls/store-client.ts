import { ClosedError, LockError, StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer } from '../../model/index.ts'
import type { Events, StoreCallName } from '../events.ts'
import type { Runtime } from '../runtime.ts'
import type { RenewReply, Soon, Store, Unknown } from '../store.ts'
import { allKnown, Batch, gathered } from './batch.ts'
import { PendingCall, type Receiver } from './pending-call.ts'
import { TimerHeap } from './timer-heap.ts'

const UNTIMED = -1
const NONE: readonly never[] = []

/**
 * Sends calls to the store: each has our own deadline, and every failure becomes one of our errors. The claims of one tick
 * travel as one call. An error means that the outcome is unknown.
 */
export class StoreClient {
  /** Nothing is collected here: the store answers in the same turn, or collects by itself. */
  readonly immediate: boolean
  readonly deadlines: TimerHeap
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly events: Events
  private readonly timeoutMs: number
  private attempts: Batch<ClaimAnswer>
  private releases: Batch<ReleaseAnswer>
  private scheduled = false
  private closed = false
  private readonly full: number

  constructor(store: Store, runtime: Runtime, events: Events, timeoutMs: number) {
    this.store = store
    this.runtime = runtime
    this.events = events
    this.timeoutMs = timeoutMs
    this.deadlines = new TimerHeap(runtime, false)
    this.attempts = new Batch(this, 'attempt')
    this.releases = new Batch(this, 'release')
    this.immediate = store.traits.immediate
    this.full =
      store.partOf === undefined
        ? (store.claimsPerCall ?? Number.POSITIVE_INFINITY)
        : Number.POSITIVE_INFINITY
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimAnswer[]> {
    if (this.immediate) return this.call('attempt', claims.length, () => allKnown(this.store.attempt(claims)))
    return gathered(claims, (claim, receiver) => this.postAttempt(claim, receiver))
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseAnswer[]> {
    if (this.immediate) return this.call('release', claims.length, () => allKnown(this.store.release(claims)))
    return gathered(claims, (claim, receiver) => this.postRelease(claim, receiver))
  }

  renew(claims: readonly Claim[], timeoutMs: number): Soon<readonly RenewReply[]> {
    return this.call('renew', claims.length, () => this.store.renew(claims), timeoutMs)
  }

  /** Sends a claim with the others of this tick. A receiver instead of a promise: there may be thousands in a tick. */
  postAttempt(claim: Claim, receiver: Receiver<ClaimAnswer>): void {
    this.attempts.add(claim, receiver)
    this.schedule(claim, this.attempts.claims.length)
  }

  postRelease(claim: Claim, receiver: Receiver<ReleaseAnswer>): void {
    this.releases.add(claim, receiver)
    this.schedule(claim, this.releases.claims.length)
  }

  /** Makes one call of another kind. The store may answer at once. */
  call<T>(name: StoreCallName, claims: number, send: () => Soon<T>, timeoutMs = this.timeoutMs): Soon<T> {
    const sentAtMs = this.sendTime()
    const answer = this.begin(name, claims, sentAtMs, send)
    if (!(answer instanceof Promise)) return answer
    return new Promise((answered, failed) => {
      const receiver = { answered, failed }
      const limitMs = Math.min(timeoutMs, this.timeoutMs)
      this.bound(new PendingCall(this, name, claims, sentAtMs, limitMs, receiver), answer)
    })
  }

  /** Groups the indexes of `items` by the part of the store that each is in; a group is where its first claim is. Null for one part. */
  byPart<T>(items: readonly T[], claimOf: (item: T) => Claim): readonly (readonly number[])[] | null {
    const { store } = this
    if (store.partOf === undefined || items.length < 2) return null
    const parts = new Map<string, number[]>()
    let group: string | null = null
    let part = ''
    for (const [index, item] of items.entries()) {
      const claim = claimOf(item)
      if (claim.group === null || claim.group !== group) part = store.partOf(claim.key)
      group = claim.group
      const indexes = parts.get(part)
      if (indexes === undefined) parts.set(part, [index])
      else indexes.push(index)
    }
    return [...parts.values()]
  }

  /** Gives up on the calls that are not answered. */
  close(): void {
    this.closed = true
    const calls = this.deadlines.all() as readonly PendingCall<unknown>[]
    this.deadlines.clear()
    for (const call of calls) call.end(new ClosedError())
  }

  /** Turns the error of a failed call into one of ours. */
  failed(call: StoreCallName, claims: number, sentAtMs: number, error: unknown): LockError {
    this.report(call, claims, sentAtMs, true)
    return this.unknown(call, claims, error)
  }

  /** The same for claims whose outcome is unknown although the call was answered. */
  unknown(call: StoreCallName, claims: number, error: unknown): LockError {
    if (!this.closed) this.events.emit('storeFailed', { call, claims, error })
    if (error instanceof LockError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new StoreError(`the ${this.store.traits.name} store failed (${call}): ${why}`, { cause: error })
  }

  report(call: StoreCallName, claims: number, sentAtMs: number, failed: boolean): void {
    if (sentAtMs === UNTIMED) return
    this.events.emit('storeCall', { call, claims, tookMs: this.runtime.nowMs() - sentAtMs, failed })
  }

  /** Sends a full batch at once, so that the store works while the next claims are collected; a group stays together. */
  private schedule(last: Claim, count: number): void {
    if (count >= this.full && last.group === null) {
      this.flush()
      return
    }
    if (this.scheduled) return
    this.scheduled = true
    this.runtime.defer(this.flush)
  }

  /** Releases go first: they may free what the attempts of the same tick ask for. */
  private readonly flush = (): void => {
    this.scheduled = false
    const { attempts, releases } = this
    const attempting = attempts.claims.length > 0
    const releasing = releases.claims.length > 0
    if (attempting) this.attempts = new Batch(this, 'attempt')
    if (releasing) this.releases = new Batch(this, 'release')
    const [others, own] = attempting && releasing ? releases.apartFrom(attempts) : [releases, null]
    this.sendAll(others, (claims) => this.store.release(claims))
    this.sendAll(attempts, (claims) => this.store.attempt(claims))
    if (own !== null) this.sendAll(own, (claims) => this.store.release(claims))
  }

  private sendAll<A extends ClaimAnswer | ReleaseAnswer>(
    whole: Batch<A>,
    send: (claims: readonly Claim[]) => Soon<readonly (A | Unknown)[]>,
  ): void {
    // Usually there is one claim, which needs no more than its call.
    if (whole.claims.length === 1) this.send(whole, send)
    else for (const batch of this.partsOf(whole)) this.send(batch, send)
  }

  private send<A extends ClaimAnswer | ReleaseAnswer>(
    batch: Batch<A>,
    send: (claims: readonly Claim[]) => Soon<readonly (A | Unknown)[]>,
  ): void {
    const { call, claims } = batch
    const sentAtMs = this.sendTime()
    let answer: Soon<readonly (A | Unknown)[]>
    try {
      answer = this.begin(call, claims.length, sentAtMs, () => send(claims))
    } catch (error) {
      batch.failed(error as LockError)
      return
    }
    if (answer instanceof Promise)
      this.bound(new PendingCall(this, call, claims.length, sentAtMs, this.timeoutMs, batch), answer)
    else batch.answered(answer)
  }

  private partsOf<A extends ClaimAnswer | ReleaseAnswer>(batch: Batch<A>): readonly Batch<A>[] {
    if (batch.claims.length === 0) return NONE
    const parts = this.byPart(batch.claims, (claim) => claim)?.map((part) => batch.only(part)) ?? [batch]
    const { claimsPerCall } = this.store
    return claimsPerCall === undefined ? parts : parts.flatMap((part) => part.split(claimsPerCall))
  }

  /** The clock is read only if somebody listens. */
  private sendTime(): number {
    return this.events.has('storeCall') ? this.runtime.nowMs() : UNTIMED
  }

  private begin<T>(name: StoreCallName, claims: number, sentAtMs: number, send: () => Soon<T>): Soon<T> {
    if (this.closed) throw new ClosedError()
    let answer: Soon<T>
    try {
      answer = send()
    } catch (error) {
      throw this.failed(name, claims, sentAtMs, error)
    }
    if (!(answer instanceof Promise)) this.report(name, claims, sentAtMs, false)
    return answer
  }

  /** The clients' own time-outs do not cover a frozen server; ours does. */
  private bound<T>(call: PendingCall<T>, answer: Promise<T>): void {
    this.deadlines.set(call, this.runtime.nowMs() + call.timeoutMs)
    answer.then(
      (value) => call.answered(value),
      (error) => call.failed(error),
    )
  }
}

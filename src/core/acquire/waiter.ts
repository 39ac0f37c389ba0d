import { type LockError, LockTimeoutError, StoreError, type TimeoutDetails } from '../../errors.ts'
import type { Blocked } from '../../model/index.ts'
import type { TimerEntry } from '../calls/timer-heap.ts'
import type { Engine } from '../engine.ts'
import type { TurnedAway } from '../events.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Acquisition } from './acquisition.ts'

/** The key was not free in time. It becomes an error only if the caller wants one. */
export class Busy {
  readonly details: TimeoutDetails

  constructor(details: TimeoutDetails) {
    this.details = details
  }
}

/** A waiter's knowledge of the key; `ahead` counts the waiters of the same process before it. */
export function detailsOf(
  request: LockRequest,
  waitedMs: number,
  blocked: Blocked | null,
  ahead = 0,
): TimeoutDetails {
  const { label = null, heldMs = null } = blocked?.holder ?? {}
  const position = (blocked?.position ?? 0) + ahead
  const answered = blocked !== null
  return { key: request.key, waitedMs, holder: label, heldMs, heldHere: false, answered, position }
}

/** A store that does not answer for this long is not healthy; a shorter wait says nothing about it. */
const LONGEST_ANSWER_MS = 1000

/** The error of a wait without any answer; null if the wait was too short to say anything about the store. */
export function noAnswerError(waitMs: number): StoreError | null {
  if (waitMs < LONGEST_ANSWER_MS) return null
  return new StoreError(`the store did not answer within the wait of ${waitMs} ms`)
}

/** Returns a grant, or throws the time-out. */
export function orTimeout<G>(engine: Engine, answer: G | Busy): G {
  if (answer instanceof Busy) throw timedOut(engine, answer.details)
  return answer
}

/** `heldHere` needs a hold of our own: other processes may have the same label. */
export function timedOut({ watchdog, settings }: Engine, details: TimeoutDetails): LockTimeoutError {
  const { key, holder } = details
  const isOurs = holder === settings.label && watchdog.all().some((hold) => hold.userKey === key)
  return new LockTimeoutError(isOurs ? { ...details, heldHere: true } : details)
}

/** Emits the events of a caller that did not get the key. */
export function tellTurnedAway(
  { events }: Engine,
  request: LockRequest,
  why: TurnedAway,
  waitedMs: number,
): void {
  const { key, ref } = request
  if (why === 'timeout') events.emit('timeout', { key, waitedMs })
  if (events.has('turnedAway')) events.emit('turnedAway', { key, why, waitedMs, ref })
}

/** The immediate answer to a caller that does not wait. */
export function busyAtOnce(engine: Engine, request: LockRequest, details: TimeoutDetails): Busy {
  tellTurnedAway(engine, request, 'busy', 0)
  return new Busy(details)
}

/** The local queue that a waiter stands in. */
export interface WaiterHome {
  /** Removes the waiter from the queue. Returns the details of the time-out, or the outage that caused it. */
  abandon(waiter: Waiter): StoreError | TimeoutDetails
}

/** One caller's wait: it ends with a lease, at its deadline, by the caller's signal, or with an error. */
export class Waiter implements TimerEntry {
  readonly request: LockRequest
  readonly promise: Promise<StoreLease | Busy>
  readonly sinceMs: number
  dueMs = 0
  index = -1
  /** Its neighbours and its number in the local queue; set by the queue. */
  before: Waiter | null = null
  after: Waiter | null = null
  number = 0
  /** The claim that was sent for it, if there is one; set by the local queue. */
  acquisition: Acquisition | null = null
  private readonly engine: Engine
  private readonly home: WaiterHome
  private resolve!: (result: StoreLease | Busy) => void
  private reject!: (error: unknown) => void
  private settled = false
  /** Created only for a caller with a signal: thousands may wait. */
  private readonly onAbort: (() => void) | null

  constructor(engine: Engine, request: LockRequest, sinceMs: number, home: WaiterHome) {
    this.engine = engine
    this.request = request
    this.sinceMs = sinceMs
    this.home = home
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    const { signal, waitMs } = request
    if (waitMs > 0 && waitMs < Number.POSITIVE_INFINITY) engine.waits.set(this, sinceMs + waitMs)
    this.onAbort = signal === null ? null : () => this.cancel()
    if (this.onAbort !== null) signal?.addEventListener('abort', this.onAbort)
    request.frame?.waits(this)
  }

  get waitedMs(): number {
    return this.engine.runtime.nowMs() - this.sinceMs
  }

  serve(lease: StoreLease): void {
    this.settle()
    this.resolve(lease)
  }

  turnAway(details: TimeoutDetails): void {
    this.settle()
    const why = this.request.waitMs === 0 ? 'busy' : 'timeout'
    tellTurnedAway(this.engine, this.request, why, details.waitedMs)
    this.resolve(new Busy(details))
  }

  fail(error: LockError): void {
    this.settle()
    tellTurnedAway(this.engine, this.request, 'failed', this.waitedMs)
    this.reject(error)
  }

  /** Ends a wait with an error; false if it has ended already. */
  refuse(error: LockError): boolean {
    if (this.settled) return false
    this.home.abandon(this)
    this.fail(error)
    return true
  }

  /** The deadline. */
  fire(): void {
    if (this.settled) return
    const why = this.home.abandon(this)
    if (why instanceof StoreError) this.fail(why)
    else this.turnAway(why)
  }

  private cancel(): void {
    if (this.settled) return
    this.home.abandon(this)
    this.settle()
    tellTurnedAway(this.engine, this.request, 'cancelled', this.waitedMs)
    this.reject(this.request.signal?.reason)
  }

  private settle(): void {
    this.settled = true
    this.engine.waits.remove(this)
    this.request.frame?.waitsNoMore()
    if (this.onAbort !== null) this.request.signal?.removeEventListener('abort', this.onAbort)
  }
}

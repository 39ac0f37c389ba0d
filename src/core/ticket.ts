import { type LockError, StoreError, type TimeoutDetails } from '../errors.ts'
import type { Blocked } from '../model/index.ts'
import type { Alarm } from './alarms.ts'
import type { Engine } from './engine.ts'
import type { TurnedAway } from './events.ts'
import type { StoreLease } from './lease.ts'
import type { Request } from './options.ts'

/** The key was not free in time; an error only if the caller wants one. */
export class Busy {
  readonly details: TimeoutDetails

  constructor(details: TimeoutDetails) {
    this.details = details
  }
}

/** What a waiter knows about those before it; `ahead` are waiters of the same process. */
export function detailsOf(
  request: Request,
  waitedMs: number,
  blocked: Blocked | null,
  ahead = 0,
): TimeoutDetails {
  const { label = null, heldMs = null } = blocked?.holder ?? {}
  return { key: request.key, waitedMs, holder: label, heldMs, position: (blocked?.position ?? 0) + ahead }
}

/** Tells that a caller did not get the key. */
export function tellTurnedAway(
  { events }: Engine,
  request: Request,
  why: TurnedAway,
  waitedMs: number,
): void {
  const { key, ref } = request
  if (why === 'timeout') events.emit('timeout', { key, waitedMs })
  if (events.has('turnedAway')) events.emit('turnedAway', { key, why, waitedMs, ref })
}

/** The answer, given at once, to one who does not wait. */
export function busyAtOnce(engine: Engine, request: Request, details: TimeoutDetails): Busy {
  tellTurnedAway(engine, request, 'busy', 0)
  return new Busy(details)
}

/** The line that a ticket stands in. */
export interface TicketHome {
  /** Takes the ticket out of the line and says what it waited for, or which outage it waited out. */
  abandon(ticket: Ticket): StoreError | TimeoutDetails
}

/** One caller's wait: it ends with a lease, at its deadline, by the caller's signal, or with an error. */
export class Ticket implements Alarm {
  readonly request: Request
  readonly promise: Promise<StoreLease | Busy>
  readonly sinceMs: number
  dueMs = 0
  place = -1
  private readonly engine: Engine
  private readonly home: TicketHome
  private resolve!: (result: StoreLease | Busy) => void
  private reject!: (error: unknown) => void
  private settled = false
  /** Made only for a caller that brings a signal: thousands of tickets may be waiting. */
  private readonly onAbort: (() => void) | null

  constructor(engine: Engine, request: Request, sinceMs: number, home: TicketHome) {
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
    request.acquisition?.waits(this)
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

  /** Ends a wait that leads nowhere; false when it has ended already. */
  refuse(error: LockError): boolean {
    if (this.settled) return false
    this.home.abandon(this)
    this.fail(error)
    return true
  }

  /** The deadline. */
  ring(): void {
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
    this.request.acquisition?.waitsNoMore()
    if (this.onAbort !== null) this.request.signal?.removeEventListener('abort', this.onAbort)
  }
}

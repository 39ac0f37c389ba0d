import { ClosedError, LockError, StoreError } from '../errors.ts'
import type { KeyView } from '../model/index.ts'
import { type Alarm, Alarms } from './alarms.ts'
import type { Events, LockEvents } from './events.ts'
import type { Runtime } from './runtime.ts'
import type { Records, Soon, Store } from './store.ts'

export type CallName = LockEvents['storeFailed']['call']

/** Who is told what a call brought: once, one or the other. */
export interface Receiver<T> {
  answered(value: T): void
  failed(error: LockError): void
}

/** Every call to the store: our own deadline around it, and whatever goes wrong comes back as one of our errors. */
export class Caller {
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly events: Events
  private readonly timeoutMs: number
  private readonly deadlines: Alarms
  private closed = false

  constructor(store: Store, runtime: Runtime, events: Events, timeoutMs: number) {
    this.store = store
    this.runtime = runtime
    this.events = events
    this.timeoutMs = timeoutMs
    this.deadlines = new Alarms(runtime, false)
  }

  call<T>(name: CallName, claims: number, send: () => Soon<T>, timeoutMs = this.timeoutMs): Soon<T> {
    const answer = this.begin(name, claims, send)
    if (!(answer instanceof Promise)) return answer
    return new Promise((answered, failed) =>
      this.bound(name, claims, answer, Math.min(timeoutMs, this.timeoutMs), { answered, failed }),
    )
  }

  /** The same for a receiver that is told, which spares the promise and the steps of its way back. */
  send<T>(name: CallName, claims: number, send: () => Soon<T>, receiver: Receiver<T>): void {
    let answer: Soon<T>
    try {
      answer = this.begin(name, claims, send)
    } catch (error) {
      receiver.failed(error as LockError)
      return
    }
    if (answer instanceof Promise) this.bound(name, claims, answer, this.timeoutMs, receiver)
    else receiver.answered(answer)
  }

  /** The keys in use, each within its own deadline. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const views = this.store.admin.list(prefix)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await this.call('admin', 0, () => views.next())
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await views.return?.()
    }
  }

  records(): Records | null {
    const { records } = this.store
    if (records === null) return null
    const ask = <T>(send: () => Soon<T>): Soon<T> => this.call('records', 0, send)
    return {
      read: (key) => ask(() => records.read(key)),
      write: (key, value, ttlMs, condition) => ask(() => records.write(key, value, ttlMs, condition)),
      remove: (key, condition) => ask(() => records.remove(key, condition)),
      take: (key, count) => ask(() => records.take(key, count)),
      trade: (key, deal) => ask(() => records.trade(key, deal)),
    }
  }

  /** Gives up on what is still under way. */
  close(): void {
    this.closed = true
    const calls = this.deadlines.all() as readonly Call<unknown>[]
    this.deadlines.clear()
    for (const call of calls) call.end(new ClosedError())
  }

  private begin<T>(name: CallName, claims: number, send: () => Soon<T>): Soon<T> {
    if (this.closed) throw new ClosedError()
    try {
      return send()
    } catch (error) {
      throw this.failed(name, claims, error)
    }
  }

  /** The clients' own time-outs do not cover a frozen server; ours does. */
  private bound<T>(
    name: CallName,
    claims: number,
    answer: Promise<T>,
    timeoutMs: number,
    receiver: Receiver<T>,
  ): void {
    const call = new Call(receiver, this.deadlines, (error) => this.failed(name, claims, error), timeoutMs)
    this.deadlines.set(call, this.runtime.nowMs() + timeoutMs)
    answer.then(
      (value) => call.answered(value),
      (error) => call.failed(error),
    )
  }

  private failed(call: CallName, claims: number, error: unknown): LockError {
    if (!this.closed) this.events.emit('storeFailed', { call, claims, error })
    if (error instanceof LockError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new StoreError(`the ${this.store.traits.name} store failed (${call}): ${why}`, { cause: error })
  }
}

/** A call that is under way. Its receiver is told once, and never after the deadline. */
class Call<T> implements Alarm {
  dueMs = 0
  place = -1
  private receiver: Receiver<T> | null
  private readonly deadlines: Alarms
  private readonly errorOf: (error: unknown) => LockError
  private readonly timeoutMs: number

  constructor(
    receiver: Receiver<T>,
    deadlines: Alarms,
    errorOf: (error: unknown) => LockError,
    timeoutMs: number,
  ) {
    this.receiver = receiver
    this.deadlines = deadlines
    this.errorOf = errorOf
    this.timeoutMs = timeoutMs
  }

  answered(value: T): void {
    this.take()?.answered(value)
  }

  failed(error: unknown): void {
    const receiver = this.take()
    if (receiver !== null) receiver.failed(this.errorOf(error))
  }

  ring(): void {
    this.failed(new Error(`no answer within ${Math.round(this.timeoutMs)} ms`))
  }

  end(error: LockError): void {
    this.take()?.failed(error)
  }

  private take(): Receiver<T> | null {
    const { receiver } = this
    this.receiver = null
    this.deadlines.remove(this)
    return receiver
  }
}

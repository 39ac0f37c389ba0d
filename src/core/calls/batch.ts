import { ClosedError, LockError, StoreError } from '../../errors.ts'
import type { Events, StoreCallName } from '../events.ts'
import type { Runtime } from '../runtime.ts'
import type { Admin, Records, Soon, Store } from '../store.ts'
import { type Alarm, Alarms } from './timer-heap.ts'

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
  readonly deadlines: Alarms
  private closed = false

  constructor(store: Store, runtime: Runtime, events: Events, timeoutMs: number) {
    this.store = store
    this.runtime = runtime
    this.events = events
    this.timeoutMs = timeoutMs
    this.deadlines = new Alarms(runtime, false)
  }

  call<T>(name: StoreCallName, claims: number, send: () => Soon<T>, timeoutMs = this.timeoutMs): Soon<T> {
    const sentAtMs = this.sendTime()
    const answer = this.begin(name, claims, sentAtMs, send)
    if (!(answer instanceof Promise)) return answer
    return new Promise((answered, failed) => {
      const receiver = { answered, failed }
      this.bound(
        new Call(this, name, claims, sentAtMs, Math.min(timeoutMs, this.timeoutMs), receiver),
        answer,
      )
    })
  }

  /** The same for a receiver that is told, which spares the promise and the steps of its way back. */
  send<T>(name: StoreCallName, claims: number, send: () => Soon<T>, receiver: Receiver<T>): void {
    const sentAtMs = this.sendTime()
    let answer: Soon<T>
    try {
      answer = this.begin(name, claims, sentAtMs, send)
    } catch (error) {
      receiver.failed(error as LockError)
      return
    }
    if (answer instanceof Promise)
      this.bound(new Call(this, name, claims, sentAtMs, this.timeoutMs, receiver), answer)
    else receiver.answered(answer)
  }

  admin(): Admin {
    const { admin } = this.store
    const ask = <T>(send: () => Soon<T>): Soon<T> => this.call('admin', 0, send)
    return {
      read: (key) => ask(() => admin.read(key)),
      list: (prefix) => this.each((onPage) => admin.list(prefix, onPage)),
      evict: (key, token, only) => ask(() => admin.evict(key, token, only)),
      ...(admin.inspect && {
        inspect: (options) => this.each((onPage) => admin.inspect!(options, onPage)),
      }),
      ...(admin.reap && { reap: (remains, olderMs) => ask(() => admin.reap!(remains, olderMs)) }),
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
      ...(records.readAll && { readAll: (keys) => ask(() => records.readAll!(keys)) }),
      ...(records.writeAll && { writeAll: (writes) => ask(() => records.writeAll!(writes)) }),
      ...(records.inventory && { inventory: (key, deal) => ask(() => records.inventory!(key, deal)) }),
    }
  }

  /** What comes one by one. Each has a deadline of its own, and so has each page that brings nothing. */
  private async *each<T>(all: (onPage: () => void) => AsyncIterable<T>): AsyncIterable<T> {
    let onPage = (): void => {}
    const one = all(() => onPage())[Symbol.asyncIterator]()
    try {
      let coming: Promise<IteratorResult<T>> | null = null
      for (;;) {
        const page = new Promise<null>((resolve) => {
          onPage = () => resolve(null)
        })
        const send = () => {
          coming ??= one.next()
          return Promise.race([coming, page])
        }
        const next = await this.call('admin', 0, send)
        if (next === null) continue
        if (next.done === true) return
        coming = null
        yield next.value
      }
    } finally {
      // Nobody waits for the clean-up: a generator that hangs in `next` answers `return` only after that.
      Promise.resolve(one.return?.()).catch(() => {})
    }
  }

  /** Gives up on what is still under way. */
  close(): void {
    this.closed = true
    const calls = this.deadlines.all() as readonly Call<unknown>[]
    this.deadlines.clear()
    for (const call of calls) call.end(new ClosedError())
  }

  /** What the store's own error becomes for the caller. */
  failed(call: StoreCallName, claims: number, sentAtMs: number, error: unknown): LockError {
    this.tell(call, claims, sentAtMs, true)
    return this.unknown(call, claims, error)
  }

  /** The same for claims whose outcome is unknown although the call was answered. */
  unknown(call: StoreCallName, claims: number, error: unknown): LockError {
    if (!this.closed) this.events.emit('storeFailed', { call, claims, error })
    if (error instanceof LockError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new StoreError(`the ${this.store.traits.name} store failed (${call}): ${why}`, { cause: error })
  }

  tell(call: StoreCallName, claims: number, sentAtMs: number, failed: boolean): void {
    if (sentAtMs === UNTIMED) return
    this.events.emit('storeCall', { call, claims, tookMs: this.runtime.nowMs() - sentAtMs, failed })
  }

  /** The clock is read only for those who listen. */
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
    if (!(answer instanceof Promise)) this.tell(name, claims, sentAtMs, false)
    return answer
  }

  /** The clients' own time-outs do not cover a frozen server; ours does. */
  private bound<T>(call: Call<T>, answer: Promise<T>): void {
    this.deadlines.set(call, this.runtime.nowMs() + call.timeoutMs)
    answer.then(
      (value) => call.answered(value),
      (error) => call.failed(error),
    )
  }
}

const UNTIMED = -1

/** A call that is under way. Its receiver is told once, and never after the deadline. */
class Call<T> implements Alarm {
  dueMs = 0
  place = -1
  readonly timeoutMs: number
  private readonly caller: Caller
  private readonly name: StoreCallName
  private readonly claims: number
  private readonly sentAtMs: number
  private receiver: Receiver<T> | null

  constructor(
    caller: Caller,
    name: StoreCallName,
    claims: number,
    sentAtMs: number,
    timeoutMs: number,
    receiver: Receiver<T>,
  ) {
    this.caller = caller
    this.name = name
    this.claims = claims
    this.sentAtMs = sentAtMs
    this.timeoutMs = timeoutMs
    this.receiver = receiver
  }

  answered(value: T): void {
    const receiver = this.take()
    if (receiver === null) return
    this.caller.tell(this.name, this.claims, this.sentAtMs, false)
    receiver.answered(value)
  }

  failed(error: unknown): void {
    const receiver = this.take()
    if (receiver !== null) receiver.failed(this.caller.failed(this.name, this.claims, this.sentAtMs, error))
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
    this.caller.deadlines.remove(this)
    return receiver
  }
}

import { ClosedError, LockError, StoreError } from '../errors.ts'
import type { KeyView } from '../model/index.ts'
import type { Events, LockEvents } from './events.ts'
import type { Runtime, Timer } from './runtime.ts'
import type { Records, Soon, Store } from './store.ts'

export type CallName = LockEvents['storeFailed']['call']

/** Every call to the store: our own deadline around it, and whatever goes wrong comes back as one of our errors. */
export class Caller {
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly events: Events
  private readonly timeoutMs: number
  private readonly pending = new Map<Timer, (error: LockError) => void>()
  private closed = false

  constructor(store: Store, runtime: Runtime, events: Events, timeoutMs: number) {
    this.store = store
    this.runtime = runtime
    this.events = events
    this.timeoutMs = timeoutMs
  }

  call<T>(name: CallName, claims: number, send: () => Soon<T>, timeoutMs = this.timeoutMs): Soon<T> {
    if (this.closed) throw new ClosedError()
    let answer: Soon<T>
    try {
      answer = send()
    } catch (error) {
      throw this.failed(name, claims, error)
    }
    return answer instanceof Promise
      ? this.bounded(name, claims, answer, Math.min(timeoutMs, this.timeoutMs))
      : answer
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
    for (const [timer, reject] of this.pending) {
      timer.clear()
      reject(new ClosedError())
    }
    this.pending.clear()
  }

  /** The clients' own time-outs do not cover a frozen server; ours does. */
  private bounded<T>(name: CallName, claims: number, answer: Promise<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        timer.clear()
        return this.pending.delete(timer)
      }
      const timer = this.runtime.setTimer(
        () => {
          const late = new Error(`no answer within ${Math.round(timeoutMs)} ms`)
          if (settle()) reject(this.failed(name, claims, late))
        },
        timeoutMs,
        false,
      )
      this.pending.set(timer, reject)
      answer.then(
        (value) => settle() && resolve(value),
        (error) => settle() && reject(this.failed(name, claims, error)),
      )
    })
  }

  private failed(call: CallName, claims: number, error: unknown): LockError {
    if (!this.closed) this.events.emit('storeFailed', { call, claims, error })
    if (error instanceof LockError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new StoreError(`the ${this.store.traits.name} store failed (${call}): ${why}`, { cause: error })
  }
}

import type { Runtime } from '../../core/runtime.ts'
import type { Soon } from '../../core/store.ts'
import { ClosedError, StoreError } from '../../errors.ts'
import { blockFor, isBusy } from './busy.ts'

/**
 * Other processes hold the write lock for some ten microseconds, so it is mostly free after the first of these pauses. They block
 * the event loop, as the work itself does; a timer would not fire before a whole millisecond.
 */
const PAUSES_MS: readonly number[] = [0.02, 0.05, 0.1, 0.2, 0.4]
const FIRST_DELAY_MS = 1
const LONGEST_DELAY_MS = 8
const GIVE_UP_MS = 5000

interface QueuedWork {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly giveUpAtMs: number
}

/**
 * Runs work on the database at once if it is free, else as soon as it becomes free, in the order of the calls: a release that
 * overtook its own claim would leave a hold that nobody knows of.
 */
export class WorkQueue {
  private readonly runtime: Runtime
  private readonly file: string
  private readonly waiting: QueuedWork[] = []
  private delayMs = FIRST_DELAY_MS
  private closed = false

  constructor(runtime: Runtime, file: string) {
    this.runtime = runtime
    this.file = file
  }

  run<T>(work: () => T): Soon<T> {
    if (this.closed) throw new ClosedError('the SQLite store is closed')
    if (this.waiting.length === 0) {
      const done = this.attempt(work, PAUSES_MS)
      if (done !== null) return done.value
    }
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ work, resolve, reject, giveUpAtMs: this.runtime.nowMs() + GIVE_UP_MS })
      if (this.waiting.length === 1) this.schedule()
    })
  }

  close(): void {
    this.closed = true
    for (const { reject } of this.waiting.splice(0)) reject(new ClosedError('the SQLite store was closed'))
  }

  /** Null when another process has the database. */
  private attempt<T>(work: () => T, pausesMs: readonly number[]): { readonly value: T } | null {
    for (let tries = 0; ; tries++) {
      try {
        return { value: work() }
      } catch (error) {
        if (!isBusy(error)) throw error
        const pauseMs = pausesMs[tries]
        if (pauseMs === undefined) return null
        blockFor(pauseMs)
      }
    }
  }

  private schedule(): void {
    const delayMs = this.delayMs * (0.5 + this.runtime.random())
    this.delayMs = Math.min(this.delayMs * 2, LONGEST_DELAY_MS)
    this.runtime.setTimer(this.serve, delayMs, false)
  }

  private readonly serve = (): void => {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (!this.settle(next)) {
        this.schedule()
        return
      }
      this.waiting.shift()
      this.delayMs = FIRST_DELAY_MS
    }
  }

  private settle(next: QueuedWork): boolean {
    try {
      const done = this.attempt(next.work, [])
      if (done !== null) next.resolve(done.value as never)
      else if (this.runtime.nowMs() < next.giveUpAtMs) return false
      else
        next.reject(new StoreError(`${JSON.stringify(this.file)} was locked by others for ${GIVE_UP_MS} ms`))
    } catch (error) {
      next.reject(error)
    }
    return true
  }
}

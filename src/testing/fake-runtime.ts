import type { Runtime, Timer } from '../core/runtime.ts'

/** Taken at import, so that a runner's own fake timers do not stop the drain. */
const realImmediate = setImmediate

/** Virtual time begins here, so that tokens stamped with it look like those of a real store. */
const EPOCH_MS = Date.UTC(2026, 0, 1)

interface PendingTimer {
  readonly task: () => void
  readonly dueMs: number
}

/**
 * A runtime whose time only passes on demand. Whole milliseconds; timers that are due together run in the order in which
 * they were set, and all promise jobs run between two timers.
 */
export class FakeRuntime implements Runtime {
  /** Sorted by due time, then by the order of setting. */
  private readonly timers: PendingTimer[] = []
  private now = 0
  private wallShift = 0
  private seed: number

  /** The same seed gives the same random numbers and ids. */
  constructor(seed = 1) {
    this.seed = seed
  }

  nowMs(): number {
    return this.now
  }

  wallMs(): number {
    return EPOCH_MS + this.now + this.wallShift
  }

  setTimer(task: () => void, delayMs: number, _background: boolean): Timer {
    const timer = { task, dueMs: this.now + Math.max(0, Math.ceil(delayMs)) }
    const index = this.timers.findIndex((other) => other.dueMs > timer.dueMs)
    this.timers.splice(index < 0 ? this.timers.length : index, 0, timer)
    return {
      clear: () => {
        const at = this.timers.indexOf(timer)
        if (at >= 0) this.timers.splice(at, 1)
      },
      keepAlive: () => {},
    }
  }

  defer(task: () => void): void {
    queueMicrotask(task)
  }

  /** Mulberry32: small, and good enough for jitter. */
  random(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.seed ^ (this.seed >>> 15), this.seed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  newId(): string {
    const bytes = Uint8Array.from({ length: 16 }, () => Math.floor(this.random() * 256))
    return Buffer.from(bytes).toString('base64url')
  }

  /** The number of timers: none after everything was released and closed. */
  get pendingTimers(): number {
    return this.timers.length
  }

  /** Runs all promise jobs; no time passes. */
  drain(): Promise<void> {
    return new Promise((resolve) => realImmediate(() => resolve()))
  }

  /** Lets `ms` pass and runs the timers that fall due. */
  async advance(ms: number): Promise<void> {
    const endMs = this.now + Math.ceil(ms)
    await this.drain()
    for (;;) {
      const next = this.timers[0]
      if (next === undefined || next.dueMs > endMs) break
      await this.fire(next)
    }
    this.now = Math.max(this.now, endMs)
  }

  /** Lets time pass until `promise` settles, and settles like it; gives up after `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    const giveUpAtMs = this.now + limitMs
    let settled = false
    const watch = () => {
      settled = true
    }
    promise.then(watch, watch)
    await this.drain()
    while (!settled) {
      const next = this.timers[0]
      if (next === undefined) throw new Error('nothing can settle the promise: no timer is set')
      if (next.dueMs > giveUpAtMs)
        throw new Error(`the promise did not settle within ${limitMs} ms of virtual time`)
      await this.fire(next)
    }
    return promise
  }

  /** A blocked event loop: `ms` pass, and timers that fell due run only with the next `advance` or `until`. */
  stall(ms: number): void {
    this.now += Math.ceil(ms)
  }

  /** A step of the wall clock, which monotonic time does not show. */
  shiftWall(ms: number): void {
    this.wallShift += ms
  }

  private async fire(timer: PendingTimer): Promise<void> {
    this.timers.splice(this.timers.indexOf(timer), 1)
    this.now = Math.max(this.now, timer.dueMs)
    timer.task()
    await this.drain()
  }
}

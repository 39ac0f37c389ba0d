import { randomBytes } from 'node:crypto'
import { StoreError } from '../errors.ts'

/** Read once: the global is a getter that would run at every reading of the clock. */
const { performance } = globalThis

/** A timer that was set; `clear` may be called more than once. */
export interface Timer {
  clear(): void
  /** From now on, the process stays alive for this timer or not. */
  keepAlive(on: boolean): void
}

/** Time and chance: no other file reads a clock or a random number. */
export interface Runtime {
  /** Monotonic time in milliseconds. */
  nowMs(): number
  /** Wall-clock time in milliseconds: for stamps and for noticing a suspended machine, never for deadlines. */
  wallMs(): number
  /** Runs `task` once, not earlier than `delayMs` from now. A `background` timer does not keep the process alive. */
  setTimer(task: () => void, delayMs: number, background: boolean): Timer
  /** Runs `task` after the current turn's promise jobs that are queued already. */
  defer(task: () => void): void
  /** A number from 0 up to, not including, 1. */
  random(): number
  /** A fresh claim id: 128 random bits as text. */
  newId(): string
}

/** Node's timers overflow above this and fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** 22 letters of 6 random bits each. */
const ID_LENGTH = 22
const POOL_BYTES = 4125
let pool = ''
let used = 0

/** Cut from a long random text: one system call or encoding per id would cost more than the claim itself. */
function newId(): string {
  if (used + ID_LENGTH > pool.length) {
    pool = randomBytes(POOL_BYTES).toString('base64url')
    used = 0
  }
  const id = pool.slice(used, used + ID_LENGTH)
  used += ID_LENGTH
  return id
}

class NodeTimer implements Timer {
  private readonly task: () => void
  private background: boolean
  private readonly dueMs: number
  private handle: NodeJS.Timeout

  constructor(task: () => void, delayMs: number, background: boolean) {
    this.task = task
    this.background = background
    this.dueMs = performance.now() + delayMs
    this.handle = this.arm(delayMs)
  }

  clear(): void {
    clearTimeout(this.handle)
  }

  keepAlive(on: boolean): void {
    this.background = !on
    if (on) this.handle.ref()
    else this.handle.unref()
  }

  private arm(delayMs: number): NodeJS.Timeout {
    const handle = setTimeout(this.fire, Math.min(Math.max(Math.ceil(delayMs), 0), LONGEST_TIMER_MS))
    if (this.background) handle.unref()
    return handle
  }

  /** Node's timers may fire up to a millisecond early; a deadline must not. */
  private readonly fire = (): void => {
    const leftMs = this.dueMs - performance.now()
    if (leftMs > 0) this.handle = this.arm(leftMs)
    else this.task()
  }
}

/** `SETTLED.then` works like `queueMicrotask`, without the async resource that Node creates for each task. */
const SETTLED = Promise.resolve()

export const nodeRuntime: Runtime = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (task, delayMs, background) => new NodeTimer(task, delayMs, background),
  defer: (task) => void SETTLED.then(task),
  random: Math.random,
  newId,
}

/** A wall clock that gained this much on the monotonic one means that the machine slept. */
const SLEEP_MS = 250

/**
 * Notices that the machine slept: the monotonic clock stands still in suspend, the wall clock goes on. A wall clock that
 * was set forward looks the same, so a sleep is a reason to doubt a lease, not a proof that it ended.
 */
export class SleepWatch {
  private readonly runtime: Runtime
  private wallAheadMs: number
  /** The number of sleeps noticed: an answer to a request sent before the last one is older than the clock says. */
  count = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
    this.wallAheadMs = runtime.wallMs() - runtime.nowMs()
  }

  /** The time that the machine slept since the last look; 0 if it did not. */
  look(): number {
    const wallAheadMs = this.runtime.wallMs() - this.runtime.nowMs()
    const sleptMs = wallAheadMs - this.wallAheadMs
    this.wallAheadMs = wallAheadMs
    if (sleptMs < SLEEP_MS) return 0
    this.count++
    return sleptMs
  }
}

export class LateError extends StoreError {}

/** The answer, or a rejection after `ms`: a frozen server blocks no caller. */
export function answeredWithin<T>(answer: Promise<T>, ms: number, runtime: Runtime): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new LateError(`no answer within ${ms} ms`))
    const timer = runtime.setTimer(late, ms, false)
    answer.then(resolve, reject).finally(() => timer.clear())
  })
}

import type { Runtime, Timer } from '../../core/runtime.ts'

/** The end of a transaction's time on the monotonic clock. */
export class DeadlinePassed extends Error {}

/** How long a transaction may go on: until its own deadline, or until its caller has had enough. */
export class TransactionDeadline {
  readonly timeoutMs: number
  /** Fires with the end of the transaction's time, for what the caller's function does meanwhile. */
  readonly signal: AbortSignal
  private readonly runtime: Runtime
  private readonly timer: Timer
  private readonly caller: AbortSignal | undefined
  private readonly controller = new AbortController()
  private readonly deadline: Promise<never>
  private readonly cancelled: Promise<never>
  private endDeadline: (error: unknown) => void = () => {}
  private endCancelled: (error: unknown) => void = () => {}

  constructor(timeoutMs: number, caller: AbortSignal | undefined, runtime: Runtime) {
    this.timeoutMs = timeoutMs
    this.caller = caller
    this.runtime = runtime
    this.signal = this.controller.signal
    this.deadline = new Promise((_, reject) => {
      this.endDeadline = reject
    })
    this.cancelled = new Promise((_, reject) => {
      this.endCancelled = reject
    })
    // A rejection that nobody waits for must not count as unhandled.
    this.deadline.catch(() => {})
    this.cancelled.catch(() => {})
    this.timer = runtime.setTimer(this.pass, timeoutMs, false)
    caller?.addEventListener('abort', this.cancel, { once: true })
  }

  /** Settles like `promise`, or rejects when the time is over or the caller cancels. */
  within<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.deadline, this.cancelled])
  }

  /** The same for what must not be cancelled any more. */
  withinDeadline<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.deadline])
  }

  pause(delayMs: number): Promise<void> {
    let timer: Timer | undefined
    const over = new Promise<void>((resolve) => {
      timer = this.runtime.setTimer(resolve, delayMs, false)
    })
    return this.within(over).finally(() => timer?.clear())
  }

  end(): void {
    this.timer.clear()
    this.caller?.removeEventListener('abort', this.cancel)
  }

  private readonly pass = (): void => {
    const late = new DeadlinePassed(`not within ${this.timeoutMs} ms`)
    this.endDeadline(late)
    this.controller.abort(late)
  }

  private readonly cancel = (): void => {
    this.endCancelled(this.caller?.reason)
    this.controller.abort(this.caller?.reason)
  }
}

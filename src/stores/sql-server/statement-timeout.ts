import type { Runtime } from '../../core/runtime.ts'

const DEFAULT_MS = 5000

/** How long the server may take to answer a statement: as long as a call of the locks that use the store may take. */
export class StatementTimeout {
  private readonly runtime: Runtime
  private longestMs: number | null = null

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  get ms(): number {
    return this.longestMs ?? DEFAULT_MS
  }

  /** Several `Locks` may share a store: the longest of their timeouts counts. */
  allow(timeoutMs: number): void {
    this.longestMs = Math.max(this.longestMs ?? 0, timeoutMs)
  }

  /** Waits for about that long, with jitter. Resolves to how long. */
  pause(ms: number): Promise<number> {
    const delayMs = ms * (0.5 + this.runtime.random())
    return new Promise((resolve) => {
      this.runtime.setTimer(() => resolve(delayMs), delayMs, false)
    })
  }

  /** Settles like the answer, or rejects after that time and calls `late`, which ends the connection that does not answer. */
  bound<T>(answer: Promise<T>, late: () => void, ms = this.ms): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.runtime.setTimer(
        () => {
          late()
          reject(new Error(`the server did not answer within ${Math.round(ms)} ms`))
        },
        ms,
        true,
      )
      answer.then(
        (value) => {
          timer.clear()
          resolve(value)
        },
        (error) => {
          timer.clear()
          reject(error)
        },
      )
    })
  }
}

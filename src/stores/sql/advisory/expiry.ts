import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Claim } from '../../../model/index.ts'
import type { Book } from './book.ts'

/** The server knows no ttl for a single lock, so the process that holds it lets go by its own clock. */
export class Expiry {
  private readonly book: Book
  private readonly runtime: Runtime
  private readonly end: (claim: Claim) => void
  private timer: Timer | null = null
  private dueMs = Number.POSITIVE_INFINITY
  private closed = false

  constructor(book: Book, runtime: Runtime, end: (claim: Claim) => void) {
    this.book = book
    this.runtime = runtime
    this.end = end
  }

  /** Looks at every hold only when the earliest end of those that were known is reached. */
  arm(atMs = this.earliestMs()): void {
    if (this.closed || atMs >= this.dueMs) return
    this.timer?.clear()
    this.dueMs = atMs
    this.timer = this.runtime.setTimer(() => this.ring(), atMs - this.runtime.nowMs(), true)
  }

  close(): void {
    this.closed = true
    this.timer?.clear()
  }

  private ring(): void {
    this.dueMs = Number.POSITIVE_INFINITY
    const nowMs = this.runtime.nowMs()
    for (const { claim, expiresAtMs } of [...this.book.holders()]) if (expiresAtMs <= nowMs) this.end(claim)
    const left = [...this.book.holders()].filter(({ expiresAtMs }) => expiresAtMs > nowMs)
    if (left.length > 0) this.arm(Math.min(...left.map(({ expiresAtMs }) => expiresAtMs)))
  }

  private earliestMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const { expiresAtMs } of this.book.holders()) earliestMs = Math.min(earliestMs, expiresAtMs)
    return earliestMs
  }
}

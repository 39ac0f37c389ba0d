import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Claim } from '../../../model/index.ts'
import type { SessionLocks } from './session-locks.ts'

/** The server knows no ttl for a single lock, so the process that holds it lets go by its own clock. */
export class HoldExpiry {
  private readonly locks: SessionLocks
  private readonly runtime: Runtime
  private readonly end: (claim: Claim) => void
  private timer: Timer | null = null
  private dueMs = Number.POSITIVE_INFINITY
  private closed = false

  constructor(locks: SessionLocks, runtime: Runtime, end: (claim: Claim) => void) {
    this.locks = locks
    this.runtime = runtime
    this.end = end
  }

  /** Claims that may have been granted: by a ttl from now each of them is over, or was renewed. */
  expect(claims: readonly Claim[]): void {
    const nowMs = this.runtime.nowMs()
    for (const { ttlMs } of claims) this.arm(nowMs + ttlMs)
  }

  close(): void {
    this.closed = true
    this.timer?.clear()
  }

  /** All holds are looked at only when the earliest end that was expected is reached. */
  private arm(atMs: number): void {
    if (this.closed || atMs >= this.dueMs) return
    this.timer?.clear()
    this.dueMs = atMs
    this.timer = this.runtime.setTimer(() => this.ring(), atMs - this.runtime.nowMs(), true)
  }

  private ring(): void {
    this.dueMs = Number.POSITIVE_INFINITY
    const nowMs = this.runtime.nowMs()
    for (const { claim, expiresAtMs } of [...this.locks.holders()]) {
      if (expiresAtMs <= nowMs) this.end(claim)
      else this.arm(expiresAtMs)
    }
  }
}

import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Claim } from '../../../model/index.ts'
import type { SessionLocks } from './session-locks.ts'

/** The server has no ttl for a single lock, so its process releases it by its own clock. */
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

  /** Watches claims that may have been granted: a ttl from now each has expired or was renewed. */
  expect(claims: readonly Claim[]): void {
    const nowMs = this.runtime.nowMs()
    for (const { ttlMs } of claims) this.arm(nowMs + ttlMs)
  }

  close(): void {
    this.closed = true
    this.timer?.clear()
  }

  /** One timer at the earliest expected end; only then all holds are checked. */
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

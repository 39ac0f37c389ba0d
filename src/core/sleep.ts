import type { Runtime } from './runtime.ts'

/** A wall clock that gained this much on the monotonic one means that the machine slept. */
const SLEEP_MS = 250

/**
 * Notices that the machine slept: the monotonic clock stands still in suspend, the wall clock goes on. A wall clock that
 * was set forward looks the same, so a sleep is a reason to doubt a lease, not a proof that it ended.
 */
export class SleepWatch {
  private readonly runtime: Runtime
  private wallAheadMs: number
  /** How many sleeps were noticed: an answer to a request from before the last one is older than its clock says. */
  count = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
    this.wallAheadMs = runtime.wallMs() - runtime.nowMs()
  }

  /** How long the machine slept since the last look; 0 when it did not. */
  look(): number {
    const wallAheadMs = this.runtime.wallMs() - this.runtime.nowMs()
    const sleptMs = wallAheadMs - this.wallAheadMs
    this.wallAheadMs = wallAheadMs
    if (sleptMs < SLEEP_MS) return 0
    this.count++
    return sleptMs
  }
}

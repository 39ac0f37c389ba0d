import type { Claim } from '../../model/index.ts'
import type { Courier } from '../calls/store-client.ts'
import { type Alarm, Alarms } from '../calls/timer-heap.ts'
import type { Runtime } from '../runtime.ts'

const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2000

/**
 * Claims that nobody wants any more but the store may still keep: attempts whose outcome is unknown, places in the
 * line that were given up, releases that failed. They are released by id, apart from the caller and its signal, until
 * the store has answered or the claim has died of its ttl.
 */
export class Abandoned {
  private readonly courier: Courier
  private readonly runtime: Runtime
  private readonly alarms: Alarms
  private readonly open = new Set<Promise<void>>()
  private readonly waiting = new Map<Alarm, () => void>()
  private closed = false

  constructor(courier: Courier, runtime: Runtime) {
    this.courier = courier
    this.runtime = runtime
    this.alarms = new Alarms(runtime, true)
  }

  /** `ttlMs` after now the claim is dead by itself. */
  release(claim: Claim): void {
    if (this.closed) return
    const done = this.persist(claim, this.runtime.nowMs() + claim.ttlMs)
    this.open.add(done)
    void done.then(() => this.open.delete(done))
  }

  /** Lets what is under way come to an end, without further retries. */
  async close(): Promise<void> {
    this.closed = true
    this.alarms.clear()
    for (const wake of this.waiting.values()) wake()
    await Promise.all(this.open)
  }

  private async persist(claim: Claim, untilMs: number): Promise<void> {
    let delayMs = FIRST_RETRY_MS
    for (;;) {
      try {
        await this.courier.release([claim])
        return
      } catch {
        // Told as a `storeFailed` event by the courier; what is left is to try again.
      }
      if (this.closed || this.runtime.nowMs() + delayMs >= untilMs) return
      await this.pause(delayMs * (0.5 + this.runtime.random()))
      delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)
    }
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const alarm: Alarm = { dueMs: 0, place: -1, ring: () => wake() }
      const wake = () => {
        this.waiting.delete(alarm)
        resolve()
      }
      this.waiting.set(alarm, wake)
      this.alarms.set(alarm, this.runtime.nowMs() + delayMs)
    })
  }
}

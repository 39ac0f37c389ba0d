import type { Claim } from '../../model/index.ts'
import type { StoreClient } from '../calls/store-client.ts'
import { type TimerEntry, TimerHeap } from '../calls/timer-heap.ts'
import type { Runtime } from '../runtime.ts'

const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2000

/**
 * Claims that are not wanted any more but that the store may still keep: attempts with an unknown outcome, abandoned queue
 * positions, failed releases. Each is released by id, apart from the caller and its signal, until the store answers or the
 * claim's ttl is over.
 */
export class CleanupQueue {
  private readonly client: StoreClient
  private readonly runtime: Runtime
  private readonly timers: TimerHeap
  private readonly open = new Set<Promise<void>>()
  private readonly waiting = new Map<TimerEntry, () => void>()
  private closed = false

  constructor(client: StoreClient, runtime: Runtime) {
    this.client = client
    this.runtime = runtime
    this.timers = new TimerHeap(runtime, true)
  }

  /** Retries for at most the claim's ttl: after that the claim has expired by itself. */
  release(claim: Claim): void {
    if (this.closed) return
    const done = this.persist(claim, this.runtime.nowMs() + claim.ttlMs)
    this.open.add(done)
    void done.then(() => this.open.delete(done))
  }

  /** Waits for the releases under way, without further retries. */
  async close(): Promise<void> {
    this.closed = true
    this.timers.clear()
    for (const wake of this.waiting.values()) wake()
    await Promise.all(this.open)
  }

  private async persist(claim: Claim, untilMs: number): Promise<void> {
    let delayMs = FIRST_RETRY_MS
    for (;;) {
      try {
        await this.client.release([claim])
        return
      } catch {
        // The client has emitted `storeFailed`; the release is retried.
      }
      if (this.closed || this.runtime.nowMs() + delayMs >= untilMs) return
      await this.pause(delayMs * (0.5 + this.runtime.random()))
      delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)
    }
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const entry: TimerEntry = { dueMs: 0, index: -1, fire: () => wake() }
      const wake = () => {
        this.waiting.delete(entry)
        resolve()
      }
      this.waiting.set(entry, wake)
      this.timers.set(entry, this.runtime.nowMs() + delayMs)
    })
  }
}

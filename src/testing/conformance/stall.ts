import type { Runtime, Timer } from '../../core/runtime.ts'

const TICK_MS = 50

/** Detects stalls of this process: a verdict about time needs a process that kept time. */
export class StallMeter {
  private readonly runtime: Runtime
  /** The longest stall so far of each running case. */
  private readonly running = new Set<{ longestMs: number }>()
  private timer: Timer | null = null
  private dueMs = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  /** Starts watching; the returned function stops it and returns the longest stall meanwhile. */
  watch(): () => number {
    const watched = { longestMs: 0 }
    this.running.add(watched)
    if (this.timer === null) this.arm()
    return () => {
      this.note()
      this.running.delete(watched)
      if (this.running.size === 0) this.disarm()
      return watched.longestMs
    }
  }

  private arm(): void {
    this.dueMs = this.runtime.nowMs() + TICK_MS
    this.timer = this.runtime.setTimer(() => this.tick(), TICK_MS, true)
  }

  private disarm(): void {
    this.timer?.clear()
    this.timer = null
  }

  private tick(): void {
    this.note()
    this.arm()
  }

  /** Also before the timer, which may be due and not yet served. */
  private note(): void {
    const lateMs = this.runtime.nowMs() - this.dueMs
    for (const watched of this.running) watched.longestMs = Math.max(watched.longestMs, lateMs)
  }
}

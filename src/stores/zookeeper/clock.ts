import type { Runtime } from '../../core/runtime.ts'

/** Clocks drift, and the next leader may have another. */
const STALE_MS = 60_000

/**
 * The ensemble's wall clock, which stamps nodes when they are made or changed. It cannot be asked for, so it is learnt
 * from the stamps of our own writes; until there was one, our own clock has to do.
 */
export class EnsembleClock {
  private readonly runtime: Runtime
  private aheadMs: number | null = null
  private learntAtMs = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  nowMs(): number {
    return this.aheadMs === null ? this.runtime.wallMs() : this.runtime.nowMs() + this.aheadMs
  }

  /** Whether somebody should write something, so that the time is known. */
  get isStale(): boolean {
    return this.runtime.nowMs() - this.learntAtMs > STALE_MS
  }

  /** From the stamp of a write that was answered just now. */
  learn(stampMs: number): void {
    const nowMs = this.runtime.nowMs()
    this.aheadMs = stampMs - nowMs
    this.learntAtMs = nowMs
  }
}

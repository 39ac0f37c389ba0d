import type { Runtime } from '../../../core/runtime.ts'

/** Clocks drift, and the next leader may have another. */
const STALE_MS = 60_000

/**
 * The ensemble's wall clock, which stamps each write. No request returns it, so this class learns it from the stamps of our own
 * writes; before the first one it uses our own clock.
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

  /** True if a write is necessary to know the time. */
  get isStale(): boolean {
    return this.runtime.nowMs() - this.learntAtMs > STALE_MS
  }

  /** Learns from the stamp of a write that was just answered. */
  learn(stampMs: number): void {
    const nowMs = this.runtime.nowMs()
    this.aheadMs = stampMs - nowMs
    this.learntAtMs = nowMs
  }
}

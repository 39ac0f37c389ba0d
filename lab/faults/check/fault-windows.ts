import type { Fault, Story } from './story.ts'

/** When the faults were, and when this machine stood still: whether somebody can be blamed for being late. */
export class FaultWindows {
  private readonly faults: readonly Fault[]
  private readonly stalls: Story['stalls']

  constructor({ faults, stalls }: Pick<Story, 'faults' | 'stalls'>) {
    this.faults = [...faults].sort((one, other) => one.fromMs - other.fromMs)
    this.stalls = stalls
  }

  /** True if no fault touches this time, nor has ended less than `clearMs` before it. */
  calm(fromMs: number, toMs: number, clearMs: number): boolean {
    return !this.faults.some((fault) => fault.fromMs <= toMs && fault.toMs + clearMs >= fromMs)
  }

  /** The times without a fault, each from the end of one to the beginning of the next. */
  calms({
    fromMs,
    toMs,
  }: Pick<Story, 'fromMs' | 'toMs'>): { readonly fromMs: number; readonly toMs: number }[] {
    const found: { fromMs: number; toMs: number }[] = []
    let at = fromMs
    for (const fault of this.faults) {
      if (fault.fromMs >= toMs) break
      if (fault.fromMs > at) found.push({ fromMs: at, toMs: fault.fromMs })
      at = Math.max(at, fault.toMs)
    }
    if (toMs > at) found.push({ fromMs: at, toMs })
    return found
  }

  /** For how long of that time there was no fault, and the machine did not stand still. */
  calmMs(fromMs: number, toMs: number): number {
    return this.calms({ fromMs, toMs }).reduce(
      (sum, calm) => sum + calm.toMs - calm.fromMs - this.stalledMs(calm.fromMs, calm.toMs),
      0,
    )
  }

  /** For how long of that time the machine stood still. */
  stalledMs(fromMs: number, toMs: number): number {
    return this.stalls.reduce(
      (sum, stall) => sum + Math.max(0, Math.min(stall.toMs, toMs) - Math.max(stall.fromMs, fromMs)),
      0,
    )
  }
}

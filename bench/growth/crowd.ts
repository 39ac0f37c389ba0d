import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../statistics.ts'
import type { Figures } from './part.ts'

const TOLD_EVERY_MS = 1000

/** The outcome of a crowd: when each came in, which ones failed, and how often too many were inside. */
export class Crowd {
  served = 0
  errors = 0
  overlaps = 0
  private readonly waitsMs: number[] = []
  private inside = 0
  private beganAtMs = Number.NEGATIVE_INFINITY
  private toldAtMs = performance.now()
  private readonly wanted: number
  private readonly limit: number
  private readonly tell: () => void
  private firstError: unknown = null

  /** `limit`: how many may be inside at once. */
  constructor(wanted: number, limit: number, tell: () => void) {
    this.wanted = wanted
    this.limit = limit
    this.tell = tell
  }

  /** From here on a wait counts: before it, nobody could have come in. */
  begin(): void {
    this.beganAtMs = performance.now()
  }

  /** One visit; it never rejects. */
  async visit(enter: (work: () => Promise<void>) => Promise<unknown>, workMs: number): Promise<void> {
    const askedAtMs = performance.now()
    const work = async (): Promise<void> => {
      this.waitsMs.push(performance.now() - Math.max(askedAtMs, this.beganAtMs))
      if (++this.inside > this.limit) this.overlaps++
      await sleep(workMs)
      this.inside--
    }
    try {
      await enter(work)
      this.served++
    } catch (error) {
      this.errors++
      this.firstError ??= error
    }
    if (performance.now() - this.toldAtMs < TOLD_EVERY_MS) return
    this.toldAtMs = performance.now()
    this.tell()
  }

  figures(): Figures {
    if (this.firstError !== null && process.env.HOLDFAST_BENCH_ERRORS !== undefined)
      console.error(this.firstError)
    return {
      wanted: this.wanted,
      served: this.served,
      'per second': Number.NaN,
      'wait p50 ms': quantile(this.waitsMs, 0.5),
      'wait p99 ms': quantile(this.waitsMs, 0.99),
      errors: this.errors,
      lost: 0,
      overlaps: this.overlaps,
    }
  }
}

export function rateOf(served: number, tookMs: number): number {
  return (served / tookMs) * 1000
}

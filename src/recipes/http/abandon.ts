import { type Duration, durationMs } from '../../core/durations.ts'

export interface AbandonOptions {
  /**
   * The time limit of a handler whose client has gone and whose end is unknown: 10 minutes by default. After that its
   * request counts as done without a response, and does not run again.
   */
  abandonAfter?: Duration
}

export function abandonMsOf({ abandonAfter = '10m' }: AbandonOptions): number {
  return durationMs('abandonAfter', abandonAfter, { minMs: 0, maxMs: 86_400_000 })
}

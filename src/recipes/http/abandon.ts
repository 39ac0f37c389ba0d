import { type Duration, durationMs } from '../../core/durations.ts'

export interface AbandonOptions {
  /**
   * How long a handler may go on after its client has gone when nothing tells its end: 10 minutes by default. Later its
   * request counts as done without a response, and is not run again.
   */
  abandonAfter?: Duration
}

export function abandonMsOf({ abandonAfter = '10m' }: AbandonOptions): number {
  return durationMs('abandonAfter', abandonAfter, { minMs: 0, maxMs: 86_400_000 })
}

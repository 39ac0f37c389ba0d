import { clockMs } from './clock.ts'
import type { HistoryWriter } from './history.ts'

const EVERY_MS = 10
const LONG_MS = 100

/** Notices when this machine gives nobody a turn: nobody is blamed then for being late. */
export class StallMeter {
  private readonly timer: NodeJS.Timeout
  private lastMs = clockMs()

  constructor(history: HistoryWriter) {
    this.timer = setInterval(() => {
      const nowMs = clockMs()
      const forMs = nowMs - this.lastMs - EVERY_MS
      if (forMs > LONG_MS) history.write({ f: 'stalled', forMs }, nowMs)
      this.lastMs = nowMs
    }, EVERY_MS)
  }

  stop(): void {
    clearInterval(this.timer)
  }
}

import type { Database } from './tables.ts'

/** More rows may go than can have come, so the tables shrink to what has to be remembered. */
const CALLS_PER_STEP = 25
/** After a step that found nothing. */
const CALLS_PER_LOOK = 250

/** Removes what need not be remembered any more, a few rows after every few calls, beside the calls themselves. */
export class Cleaner {
  private readonly database: Database
  private callsLeft = CALLS_PER_STEP
  private running: Promise<void> | null = null

  constructor(database: Database) {
    this.database = database
  }

  /** Called for every call that may write. */
  count(): void {
    if (--this.callsLeft > 0 || this.running !== null) return
    this.running = this.step()
  }

  async close(): Promise<void> {
    await this.running
  }

  /** One that fails is made up for by the next. */
  private async step(): Promise<void> {
    const removed = await this.database.clean().catch(() => 0)
    this.callsLeft = removed > 0 ? CALLS_PER_STEP : CALLS_PER_LOOK
    this.running = null
  }
}

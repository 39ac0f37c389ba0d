import type { Database } from './tables.ts'

/** More rows may go than can have come, so the tables shrink to what has to be remembered. */
const CALLS_PER_STEP = 25

/** Removes what need not be remembered any more, a few rows after every few calls, beside the calls themselves. */
export class Cleaner {
  private readonly database: Database
  private calls = 0
  private running: Promise<unknown> | null = null

  constructor(database: Database) {
    this.database = database
  }

  /** Called for every call that may write. */
  count(): void {
    if (++this.calls % CALLS_PER_STEP !== 0 || this.running !== null) return
    // A step that fails is made up for by the next one.
    this.running = this.database.clean().catch(() => {})
    void this.running.then(() => {
      this.running = null
    })
  }

  async close(): Promise<void> {
    await this.running
  }
}

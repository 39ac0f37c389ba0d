import type { ServerDatabase } from './database.ts'
import { ROWS_PER_CLEANING } from './rules.ts'

/** More rows may go than can have come, so the tables shrink to what has to be remembered. */
const ROWS_PER_KEY = 2
/** For so many keys nobody looks again after a step that found nothing. */
const KEYS_PER_LOOK = 250

/** Removes what need not be remembered any more, in proportion to the keys that are used, beside the calls themselves. */
export class ServerCleaner {
  private readonly database: ServerDatabase
  /** Drops the dead claims of a key. */
  private readonly passTime: (key: string) => Promise<unknown>
  /** How many rows may be removed for the keys that came. */
  private due = 0
  private running: Promise<void> | null = null
  private closed = false

  constructor(database: ServerDatabase, passTime: (key: string) => Promise<unknown>) {
    this.database = database
    this.passTime = passTime
  }

  /** Called for every call that may write, with the number of its keys. */
  count(keys: number): void {
    this.due += keys * ROWS_PER_KEY
    if (this.due < ROWS_PER_CLEANING || this.running !== null) return
    this.running = this.run().finally(() => {
      this.running = null
    })
  }

  async close(): Promise<void> {
    this.closed = true
    await this.running
  }

  /** A key goes with its last claim, so that claims of which no more was heard go first. */
  private async step(): Promise<number> {
    for (const key of await this.database.stale()) await this.passTime(key)
    return this.database.clean()
  }

  /** A step that fails is made up for by a later one. */
  private async run(): Promise<void> {
    while (this.due >= ROWS_PER_CLEANING && !this.closed) {
      const removed = await this.step().catch(() => 0)
      if (removed === 0) this.due = ROWS_PER_CLEANING - KEYS_PER_LOOK * ROWS_PER_KEY
      else this.due -= ROWS_PER_CLEANING
    }
  }
}

import type { ServerDatabase } from './database.ts'
import { ROWS_PER_CLEANING } from './database.ts'

/** Clean-up may remove more rows than can have come, so the tables shrink to the needed rows. */
const ROWS_PER_KEY = 2
/** After a step that found nothing, clean-up pauses for so many keys. */
const KEYS_PER_PAUSE = 250

/** Removes rows that are no longer needed, in proportion to the keys that are used, in parallel to the calls. */
export class ServerCleaner {
  private readonly database: ServerDatabase
  /** Drops the dead claims of a key. */
  private readonly passTime: (key: string) => Promise<unknown>
  /** How many rows may be removed for the keys so far. */
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

  /** A key is removed after its last claim, so dead claims come first. */
  private async step(): Promise<number> {
    for (const key of await this.database.stale()) await this.passTime(key)
    return this.database.clean()
  }

  /** A later step makes up for one that fails. */
  private async run(): Promise<void> {
    while (this.due >= ROWS_PER_CLEANING && !this.closed) {
      const removed = await this.step().catch(() => 0)
      if (removed === 0) this.due = ROWS_PER_CLEANING - KEYS_PER_PAUSE * ROWS_PER_KEY
      else this.due -= ROWS_PER_CLEANING
    }
  }
}

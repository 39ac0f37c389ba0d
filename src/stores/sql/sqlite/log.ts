import { statSync } from 'node:fs'
import type { Connection } from './connection.ts'

const CALLS_PER_LOOK = 256
const LONGEST_LOG_BYTES = 16 * 1024 * 1024
/** How long those who are in the middle of a transaction are waited for: they need microseconds if they run at all. */
const PATIENCE_MS = 20

/**
 * Empties the write-ahead log before it grows long. SQLite does that by itself only when it finds nobody in the middle
 * of a transaction, which does not happen while many processes are busy; from then on it would try, with two calls of
 * fsync, after every commit.
 */
export class LogKeeper {
  private readonly connection: Connection
  private calls = 0

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** Called after every call. */
  count(): void {
    if (++this.calls % CALLS_PER_LOOK !== 0) return
    try {
      if (this.bytes() > LONGEST_LOG_BYTES) this.empty()
    } catch {
      // A call that has succeeded must not fail because of this; if it stays impossible, the next look will come.
    }
  }

  private bytes(): number {
    return statSync(`${this.connection.file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  private empty(): void {
    this.connection.waitingFor(PATIENCE_MS, () => this.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
  }
}

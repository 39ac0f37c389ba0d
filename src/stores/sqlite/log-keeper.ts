import { closeSync, openSync, readSync } from 'node:fs'
import type { SqliteConnection } from './connection.ts'

const CALLS_PER_LOOK = 256
const LONGEST_LOG_BYTES = 16 * 1024 * 1024
/** How long those who are in the middle of a transaction are waited for: they need microseconds if they run at all. */
const PATIENCE_MS = 20
/** The file of the log: a header, and then pages, each with a header of its own. Both have the salt of the log as it was begun last. */
const HEADER_BYTES = 32
const PAGE_HEADER_BYTES = 24
const SALT_BYTES = 8
const SALT_AT = 16
const PAGE_SALT_AT = 8

/**
 * Starts the write-ahead log anew before it grows long. SQLite does that by itself only when it finds nobody in the middle
 * of a transaction, which does not happen while many processes are busy; from then on it would try, with two calls of
 * fsync, after every commit. The file keeps its length: to write over it costs a third less than to make it grow again.
 */
export class LogKeeper {
  private readonly connection: SqliteConnection
  /** Where the salt of the page is with which the log is long. */
  private readonly lastSaltAt: number
  private readonly salt = Buffer.alloc(SALT_BYTES)
  private readonly lastSalt = Buffer.alloc(SALT_BYTES)
  private calls = 0

  constructor(connection: SqliteConnection) {
    this.connection = connection
    const frameBytes = PAGE_HEADER_BYTES + connection.pageBytes
    this.lastSaltAt = HEADER_BYTES + Math.floor(LONGEST_LOG_BYTES / frameBytes) * frameBytes + PAGE_SALT_AT
  }

  /** Called after every call. */
  count(): void {
    if (++this.calls % CALLS_PER_LOOK !== 0) return
    try {
      if (this.isLong()) this.startAnew()
    } catch {
      // A call that has succeeded must not fail because of this; if it stays impossible, the next look will come.
    }
  }

  /**
   * What SQLite itself would say costs two calls of fsync, and its index must not be opened: when a process closes a file, its
   * locks on that file end, and all locks of a write-ahead log are on its index.
   */
  private isLong(): boolean {
    const log = openSync(`${this.connection.file}-wal`, 'r')
    try {
      readSync(log, this.salt, 0, SALT_BYTES, SALT_AT)
      const bytes = readSync(log, this.lastSalt, 0, SALT_BYTES, this.lastSaltAt)
      return bytes === SALT_BYTES && this.lastSalt.equals(this.salt)
    } finally {
      closeSync(log)
    }
  }

  private startAnew(): void {
    this.connection.waitingFor(PATIENCE_MS, () => this.connection.exec('PRAGMA wal_checkpoint(RESTART)'))
  }
}

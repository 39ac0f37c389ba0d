import { closeSync, openSync, readSync } from 'node:fs'
import type { SqliteConnection } from './connection.ts'

const CALLS_PER_CHECK = 256
const LONGEST_LOG_BYTES = 16 * 1024 * 1024
/** How long to wait for open transactions of other processes, which take microseconds if the processes run at all. */
const TIMEOUT_MS = 20
/** The log file has a header and then pages with headers of their own. All carry the salt of the log's latest restart. */
const HEADER_BYTES = 32
const PAGE_HEADER_BYTES = 24
const SALT_BYTES = 8
const SALT_AT = 16
const PAGE_SALT_AT = 8

/**
 * Restarts the write-ahead log before it grows long. By itself SQLite does so only when no transaction is open, which does not
 * happen while many processes are busy; it would then try after every commit, with two calls of fsync. The file keeps its
 * length: to overwrite it costs a third less than to make it grow again.
 */
export class LogKeeper {
  private readonly connection: SqliteConnection
  /** The position of the salt in the page that makes the log long. */
  private readonly lastSaltAt: number
  private readonly salt = Buffer.alloc(SALT_BYTES)
  private readonly lastSalt = Buffer.alloc(SALT_BYTES)
  private calls = 0

  constructor(connection: SqliteConnection) {
    this.connection = connection
    const frameBytes = PAGE_HEADER_BYTES + connection.pageBytes
    this.lastSaltAt = HEADER_BYTES + Math.floor(LONGEST_LOG_BYTES / frameBytes) * frameBytes + PAGE_SALT_AT
  }

  count(): void {
    if (++this.calls % CALLS_PER_CHECK !== 0) return
    try {
      if (this.isLong()) this.restart()
    } catch {
      // A call that has succeeded must not fail because of this. The next check comes.
    }
  }

  /**
   * To ask SQLite itself costs two calls of fsync. The index of the log must not be opened: when a process closes a file, its
   * locks on it end, and all locks of a write-ahead log are on its index.
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

  private restart(): void {
    this.connection.waitingFor(TIMEOUT_MS, () => this.connection.exec('PRAGMA wal_checkpoint(RESTART)'))
  }
}

import { StoreError } from '../../errors.ts'
import type { Binding, SqliteDatabase, SqliteStatement, SqlValue } from './binding.ts'
import type { BootClock } from './boot.ts'
import { blockFor, isBusy, resultCodeOf } from './busy.ts'
import { refusedPath } from './location.ts'

import { requireSchema } from './schema.ts'

/** Opening is synchronous and rare, so it may wait inside SQLite for processes that open or close the same file. */
const OPEN_TIMEOUT_MS = 5000
const OPEN_RETRY_MS = 5

/** Rows are short, and a commit writes whole pages to the log. It applies to a new file; an old one keeps its page size. */
const PAGE_BYTES = 1024
const READ_ONLY = 8
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26

/** SQLite restarts the write-ahead log at this length if the store has not done so earlier, and cuts it to this length. */
const LONGEST_LOG_BYTES = 32 * 1024 * 1024

/** An open database, with its tables. */
export class SqliteConnection {
  readonly file: string
  readonly pageBytes: number
  private readonly database: SqliteDatabase
  private readonly statements: LazyStatement[] = []
  private readonly begin: SqliteStatement
  private readonly beginReading: SqliteStatement
  private readonly savepoint: SqliteStatement
  private readonly rollbackTo: SqliteStatement
  private readonly endSavepoint: SqliteStatement
  private readonly commit: SqliteStatement
  private readonly rollback: SqliteStatement

  constructor(binding: Binding, file: string, clock: BootClock) {
    this.file = file
    this.database = open(binding, file, clock)
    this.pageBytes = pageBytesOf(this.database)
    this.begin = this.prepare('BEGIN IMMEDIATE')
    this.beginReading = this.prepare('BEGIN')
    this.savepoint = this.prepare('SAVEPOINT holdfast')
    this.rollbackTo = this.prepare('ROLLBACK TO holdfast')
    this.endSavepoint = this.prepare('RELEASE holdfast')
    this.commit = this.prepare('COMMIT')
    this.rollback = this.prepare('ROLLBACK')
  }

  prepare(sql: string): SqliteStatement {
    const statement = new LazyStatement(() => this.database.prepare(sql))
    this.statements.push(statement)
    return statement
  }

  /** Runs `work` while no other process writes; an error undoes it. */
  transaction<T>(work: () => T): T {
    return this.inside(this.begin, work)
  }

  /** Runs `work`, which only reads, on a snapshot that blocks no writer. */
  snapshot<T>(work: () => T): T {
    return this.inside(this.beginReading, work)
  }

  /** Runs a part of a transaction, and undoes it if `work` returns false. */
  attempt(work: () => boolean): boolean {
    this.savepoint.run()
    const done = work()
    if (!done) this.rollbackTo.run()
    this.endSavepoint.run()
    return done
  }

  private inside<T>(begin: SqliteStatement, work: () => T): T {
    begin.run()
    try {
      const result = work()
      this.commit.run()
      return result
    } catch (error) {
      this.undo()
      throw error
    }
  }

  exec(sql: string): void {
    this.database.exec(sql)
  }

  /** Runs `work` and lets SQLite wait for other processes meanwhile, which blocks the event loop. */
  waitingFor(timeoutMs: number, work: () => void): void {
    this.exec(`PRAGMA busy_timeout = ${timeoutMs}`)
    try {
      work()
    } finally {
      this.exec('PRAGMA busy_timeout = 0')
    }
  }

  close(): void {
    for (const statement of this.statements) statement.forget()
    this.database.close()
  }

  private undo(): void {
    try {
      this.rollback.run()
    } catch {
      // SQLite has rolled back already, as it does when the disk is full.
    }
  }
}

function open(binding: Binding, file: string, clock: BootClock): SqliteDatabase {
  let database: SqliteDatabase | null = null
  try {
    database = new binding.DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${OPEN_TIMEOUT_MS}; PRAGMA page_size = ${PAGE_BYTES}`)
    useWriteAheadLog(database, file)
    // A power cut may lose the last commits. That is harmless: their holds belong to an earlier boot, hence are dead, and their tokens
    // cannot come back, because the next token is at least the wall clock's stamp.
    const pages = Math.floor(LONGEST_LOG_BYTES / pageBytesOf(database))
    database.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${LONGEST_LOG_BYTES}`,
    )
    requireSchema(database, clock)
    // From here on no statement waits inside SQLite, which would block the event loop and is not fair.
    database.exec('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    database?.close()
    throw whyNotOpened(error, file)
  }
}

function pageBytesOf(database: SqliteDatabase): number {
  return (database.prepare('PRAGMA page_size').get() as { readonly page_size: number }).page_size
}

/** The first process to open a file changes its journal mode, and SQLite does not wait for others that do the same. */
function useWriteAheadLog(database: SqliteDatabase, file: string): void {
  for (let waitedMs = 0; ; waitedMs += OPEN_RETRY_MS) {
    try {
      const row = database.prepare('PRAGMA journal_mode = WAL').get() as { readonly journal_mode: string }
      if (row.journal_mode === 'wal') return
      throw new StoreError(
        `${JSON.stringify(file)} cannot have a write-ahead log: its journal stays ${row.journal_mode}`,
      )
    } catch (error) {
      if (!isBusy(error) || waitedMs >= OPEN_TIMEOUT_MS) throw error
      blockFor(OPEN_RETRY_MS)
    }
  }
}

/** The error for a database that cannot be opened. */
function whyNotOpened(error: unknown, file: string): unknown {
  switch (resultCodeOf(error)) {
    case NOT_A_DATABASE:
      return refusedPath(file, 'is not an SQLite database')
    case CANNOT_OPEN:
      return refusedPath(file, 'cannot be opened: SQLite was not allowed to create or open it')
    case READ_ONLY:
      return refusedPath(file, 'cannot be written')
    case null:
      return error
    default:
      return new StoreError(`cannot open ${JSON.stringify(file)}: ${(error as Error).message}`, {
        cause: error,
      })
  }
}

/** A statement that is prepared at its first use: to prepare all of them is most of the cost of opening. */
class LazyStatement implements SqliteStatement {
  private readonly make: () => SqliteStatement
  private made: SqliteStatement | null = null

  constructor(make: () => SqliteStatement) {
    this.make = make
  }

  run(...parameters: readonly SqlValue[]): ReturnType<SqliteStatement['run']> {
    return this.statement.run(...parameters)
  }

  get(...parameters: readonly SqlValue[]): unknown {
    return this.statement.get(...parameters)
  }

  all(...parameters: readonly SqlValue[]): unknown[] {
    return this.statement.all(...parameters)
  }

  /** The package keeps a closed file open until its last statement is garbage-collected. */
  forget(): void {
    this.made = null
  }

  private get statement(): SqliteStatement {
    this.made ??= this.make()
    return this.made
  }
}

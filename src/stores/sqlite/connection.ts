import { StoreError } from '../../errors.ts'
import type { Binding, SqliteDatabase, SqliteStatement, SqlValue } from './binding.ts'
import type { BootClock } from './boot.ts'
import { isBusy, pause, resultCodeOf } from './busy.ts'
import { refusal } from './location.ts'

import { requireSchema } from './schema.ts'

/** Opening is synchronous and rare, so it may wait inside SQLite for others who open or close the same file. */
const OPEN_PATIENCE_MS = 5000
const OPEN_RETRY_MS = 5

/** A commit writes whole pages to the log, and rows are short. Only for a new file: it keeps what it was made with. */
const PAGE_BYTES = 1024
const READ_ONLY = 8
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26

/** The length of the write-ahead log at which SQLite starts it anew if nobody did so earlier, and to which it is cut then. */
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

  /** Runs `work` with the database to itself; whatever it throws undoes it. */
  transaction<T>(work: () => T): T {
    return this.inside(this.begin, work)
  }

  /** Runs `work`, which only reads, on one moment of the database, and keeps nobody from writing. */
  snapshot<T>(work: () => T): T {
    return this.inside(this.beginReading, work)
  }

  /** A part of a transaction that is undone if `work` says so, by `false`. */
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

  /** Lets SQLite wait for others, which blocks the event loop, while `work` runs. */
  waitingFor(patienceMs: number, work: () => void): void {
    this.exec(`PRAGMA busy_timeout = ${patienceMs}`)
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
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }
}

function open(binding: Binding, file: string, clock: BootClock): SqliteDatabase {
  let database: SqliteDatabase | null = null
  try {
    database = new binding.DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${OPEN_PATIENCE_MS}; PRAGMA page_size = ${PAGE_BYTES}`)
    useWriteAheadLog(database, file)
    // A power cut may take the last commits along. That is harmless: the holds in them are of another boot, hence dead,
    // and a token that was lost with them cannot come back, because the next one is at least the wall clock's stamp.
    const pages = Math.floor(LONGEST_LOG_BYTES / pageBytesOf(database))
    database.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${LONGEST_LOG_BYTES}`,
    )
    requireSchema(database, clock)
    // From here on nobody waits inside SQLite: it would block the event loop, and it is not fair.
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

/** The first to open a file changes its journal, and SQLite does not wait for others who are about to do the same. */
function useWriteAheadLog(database: SqliteDatabase, file: string): void {
  for (let waitedMs = 0; ; waitedMs += OPEN_RETRY_MS) {
    try {
      const row = database.prepare('PRAGMA journal_mode = WAL').get() as { readonly journal_mode: string }
      if (row.journal_mode === 'wal') return
      throw new StoreError(
        `${JSON.stringify(file)} cannot have a write-ahead log: its journal stays ${row.journal_mode}`,
      )
    } catch (error) {
      if (!isBusy(error) || waitedMs >= OPEN_PATIENCE_MS) throw error
      pause(OPEN_RETRY_MS)
    }
  }
}

/** The error for a database that could not be opened. */
function whyNotOpened(error: unknown, file: string): unknown {
  switch (resultCodeOf(error)) {
    case NOT_A_DATABASE:
      return refusal(file, 'is not an SQLite database')
    case CANNOT_OPEN:
      return refusal(file, 'cannot be opened: SQLite was not allowed to create or open it')
    case READ_ONLY:
      return refusal(file, 'cannot be written')
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

  /** The package keeps a closed file open until the last of its statements is collected. */
  forget(): void {
    this.made = null
  }

  private get statement(): SqliteStatement {
    this.made ??= this.make()
    return this.made
  }
}

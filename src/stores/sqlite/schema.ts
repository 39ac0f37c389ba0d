import { UnsupportedError } from '../../errors.ts'
import type { SqliteDatabase } from './binding.ts'
import type { BootClock } from './boot.ts'

/** The version of the tables. A newer one is refused, never guessed at. */
export const FORMAT = 2

/**
 * A key keeps its row in `holdfast_locks` for a day after its last grant, because of its last sequence number. The claim of a sole
 * holder lies in that row, so that taking and releasing a free key takes one statement each. All other claims have rows of their
 * own in `holdfast_claims`. Times are those of the monotonic clock of `boot`, and `at` is the time of the write.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS holdfast_locks (
    key TEXT PRIMARY KEY,
    format INTEGER NOT NULL,
    boot TEXT NOT NULL,
    at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    forget_at INTEGER NOT NULL,
    closed_until INTEGER NOT NULL,
    mode TEXT,
    permits INTEGER NOT NULL,
    used INTEGER NOT NULL,
    holders INTEGER NOT NULL,
    waiters INTEGER NOT NULL,
    last_ticket INTEGER NOT NULL,
    holder TEXT,
    owner TEXT,
    actor TEXT,
    label TEXT,
    meta TEXT,
    lock_delay INTEGER NOT NULL,
    inbox TEXT,
    since INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS holdfast_locks_forget ON holdfast_locks (boot, forget_at);
  CREATE INDEX IF NOT EXISTS holdfast_locks_used ON holdfast_locks (key) WHERE holders + waiters > 0;
  CREATE TABLE IF NOT EXISTS holdfast_claims (
    key TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL,
    hold INTEGER NOT NULL,
    ticket INTEGER NOT NULL,
    mode TEXT NOT NULL,
    permits INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    owner TEXT,
    actor TEXT,
    label TEXT NOT NULL,
    meta TEXT,
    ttl INTEGER NOT NULL,
    lock_delay INTEGER NOT NULL,
    inbox TEXT,
    since INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (key, id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS holdfast_claims_order ON holdfast_claims (key, state, hold, ticket);
  CREATE INDEX IF NOT EXISTS holdfast_claims_end ON holdfast_claims (key, state, expires_at);
  CREATE INDEX IF NOT EXISTS holdfast_claims_owner ON holdfast_claims (key, owner, state, ticket) WHERE owner IS NOT NULL;
`

/** A removed record keeps its row without a value, because of its version. */
const RECORDS = `
  CREATE TABLE IF NOT EXISTS holdfast_records (
    key TEXT PRIMARY KEY,
    boot TEXT NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    value TEXT,
    expires_at INTEGER,
    expires_wall INTEGER,
    forget_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS holdfast_records_forget ON holdfast_records (boot, forget_at);
`

const META = `
  CREATE TABLE IF NOT EXISTS holdfast_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;
  INSERT OR IGNORE INTO holdfast_meta (name, value) VALUES ('format', '${FORMAT}');
`

/**
 * Format 1 kept the whole state of a key in one row of `holdfast_keys`. The last tokens are kept. A process of that version that has
 * the file open finds the table empty and cannot write to it: its error shows the name of the constraint.
 */
const FROM_FORMAT_1 = `
  INSERT INTO holdfast_locks (key, format, boot, at, seq, forget_at, closed_until, permits, used, holders, waiters,
    last_ticket, lock_delay, since, expires_at)
  SELECT key, ${FORMAT}, boot, at, seq, forget_at, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM holdfast_keys;
  DROP TABLE holdfast_keys;
  CREATE TABLE holdfast_keys (
    key TEXT PRIMARY KEY,
    boot TEXT,
    at INTEGER,
    seq INTEGER,
    holder TEXT,
    expires_at INTEGER,
    state TEXT,
    forget_at INTEGER,
    CONSTRAINT "the file is in format 2: upgrade holdfast in this process" CHECK (0)
  ) WITHOUT ROWID;
  UPDATE holdfast_meta SET value = '${FORMAT}' WHERE name = 'format';
`

/** Creates the tables if they are missing, upgrades those of format 1 and refuses those of a newer format. */
export function requireSchema(database: SqliteDatabase, clock: BootClock): void {
  const known = formatOf(database)
  if (known === FORMAT) return
  if (known !== null) refuseNewer(known, 'locks')
  transaction(database, () => {
    // Another process may have created them meanwhile.
    const now = formatOf(database)
    database.exec(TABLES + RECORDS + META)
    if (now !== null && now < FORMAT) {
      refuseUsed(database, clock)
      database.exec(FROM_FORMAT_1)
    }
  })
  refuseNewer(formatOf(database) ?? 0, 'locks')
}

function refuseNewer(format: number, what: string): void {
  if (format > FORMAT) throw newerFormat(format, what)
}

export function newerFormat(format: number, what: string): UnsupportedError {
  return new UnsupportedError(
    `the database holds ${what} in format ${format}, and this version of holdfast knows formats up to ${FORMAT}: upgrade holdfast in this process`,
  )
}

/** Refuses to upgrade a file in which a key of format 1 may still be held or waited for. */
function refuseUsed(database: SqliteDatabase, clock: BootClock): void {
  const nowMs = clock.nowMs()
  const rows = database
    .prepare('SELECT key, boot, at, state FROM holdfast_keys WHERE state IS NOT NULL')
    .all()
  for (const { key, boot, at, state } of rows as { key: string; boot: string; at: number; state: string }[]) {
    if (clock.isForeign(boot, at, nowMs) || endOf(state) <= nowMs) continue
    throw new UnsupportedError(
      `the database holds locks in format 1, and ${JSON.stringify(key)} is in use: stop the processes that use it, or let them release their locks, before a version of holdfast with format ${FORMAT} opens it`,
    )
  }
}

/** The end of the last claim in a state of format 1, with its lock delay. The state is `[format, holds, queue, closed until]`. */
function endOf(state: string): number {
  const [, holds, queue, closedUntilMs] = JSON.parse(state) as [number, unknown[][], unknown[][], number]
  let endMs = closedUntilMs
  for (const hold of holds) {
    for (const member of hold[3] as unknown[][])
      endMs = Math.max(endMs, (member[1] as number) + (member[6] as number))
  }
  for (const waiter of queue) endMs = Math.max(endMs, waiter[10] as number)
  return endMs
}

function transaction(database: SqliteDatabase, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

function formatOf(database: SqliteDatabase): number | null {
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'holdfast_meta'"
  if (database.prepare(table).get() === undefined) return null
  const row = database.prepare("SELECT value FROM holdfast_meta WHERE name = 'format'").get()
  return row === undefined ? null : Number((row as { readonly value: string }).value)
}

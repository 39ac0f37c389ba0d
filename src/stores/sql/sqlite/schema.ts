import { FORMAT, refuseNewer } from '../format.ts'
import type { Database } from './binding.ts'

/**
 * A key keeps its row for a day after its last grant, because of its last sequence number; `state` is null while it
 * is free. `holder` and `expires_at` repeat what the state says where it says no more than that, for the fast paths.
 * Times are the monotonic clock's under `boot`, and `at` is when the row was written.
 * A removed record keeps its row, without a value, because of its version.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS holdfast_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holdfast_keys (
    key TEXT PRIMARY KEY,
    boot TEXT NOT NULL,
    at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    holder TEXT,
    expires_at INTEGER NOT NULL,
    state TEXT,
    forget_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS holdfast_keys_forget ON holdfast_keys (boot, forget_at);
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
  INSERT OR IGNORE INTO holdfast_meta (name, value) VALUES ('format', '${FORMAT}');
`

/** Makes the tables if they are missing, and refuses those of a newer format. */
export function requireSchema(database: Database): void {
  const known = formatOf(database)
  if (known !== null) {
    refuseNewer(known, 'locks')
    return
  }
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(TABLES)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
  refuseNewer(formatOf(database) ?? 0, 'locks')
}

function formatOf(database: Database): number | null {
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'holdfast_meta'"
  if (database.prepare(table).get() === undefined) return null
  const row = database.prepare("SELECT value FROM holdfast_meta WHERE name = 'format'").get()
  return row === undefined ? null : Number((row as { readonly value: string }).value)
}

import { StoreError, UnsupportedError } from '../../../errors.ts'
import { lastLifeMs } from '../../../model/index.ts'
import { decodeState } from '../format.ts'

/** The version of the tables. Format 1 had the whole queue of a key in one row. */
export const FORMAT = 2

/** Tables of another version are never guessed at. */
export function requireFormat(format: number): void {
  if (format === FORMAT) return
  throw new UnsupportedError(
    format > FORMAT
      ? `the database holds locks in format ${format}, and this version of holdfast knows format ${FORMAT}: upgrade holdfast in this process`
      : `the database holds locks in format ${format}, and this version of holdfast needs format ${FORMAT}: stop every process that uses them, then run holdfast migrate`,
  )
}

/** What format 1 said of a key. */
interface FirstRow {
  readonly key: string
  readonly holder: string | null
  readonly expiresAtMs: number
  readonly state: string
}

/** Refuses to change tables in which somebody may still hold something. */
export function requireUnused(rows: readonly FirstRow[], nowMs: number): void {
  for (const { key, holder, expiresAtMs, state } of rows) {
    const endsAtMs =
      holder === null ? lastLifeMs(decodeState(key, state, { seq: 0, seqKeptUntilMs: 0 })) : expiresAtMs
    if ((endsAtMs ?? 0) > nowMs) throw inUse(key)
  }
}

function inUse(key: string): StoreError {
  return new StoreError(
    `the lock ${JSON.stringify(key)} of format 1 is still in use: stop every process that uses the tables, wait until its ttl is over, and run holdfast migrate again`,
  )
}

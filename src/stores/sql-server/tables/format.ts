import { StoreError, UnsupportedError } from '../../../errors.ts'

/** The version of the tables. Format 1 had the whole queue of a key in one row. */
export const TABLE_FORMAT = 2

/** Refuses tables of another version. */
export function requireTableFormat(format: number): void {
  if (format === TABLE_FORMAT) return
  throw new UnsupportedError(
    format > TABLE_FORMAT
      ? `the database holds locks in format ${format}, and this version of holdfast knows format ${TABLE_FORMAT}: upgrade holdfast in this process`
      : `the database holds locks in format ${format}, and this version of holdfast needs format ${TABLE_FORMAT}: stop every process that uses them, then run holdfast migrate`,
  )
}

/** A key as format 1 wrote it. */
interface FormatOneRow {
  readonly key: string
  readonly holder: string | null
  readonly expiresAtMs: number
  readonly state: string
}

/** Refuses to change tables in which a claim may still be alive. */
export function requireUnused(rows: readonly FormatOneRow[], nowMs: number): void {
  for (const { key, holder, expiresAtMs, state } of rows) {
    const endsAtMs = holder === null ? lastEndMs(state) : expiresAtMs
    if (endsAtMs > nowMs)
      throw new StoreError(
        `the lock ${JSON.stringify(key)} of format 1 is still in use: stop every process that uses the tables, wait until its ttl is over, and run holdfast migrate again`,
      )
  }
}

/** The state is `[format, holds, queue, closed until]`, and so on inside: lists in place of objects. */
function lastEndMs(state: string): number {
  const [, holds, queue, closedUntilMs] = JSON.parse(state) as [number, unknown[][], number[][], number]
  const members = holds.flatMap((hold) => hold[3] as number[][])
  const ends = [...members.map((member) => member[1]), ...queue.map((waiter) => waiter[10])] as number[]
  return ends.length === 0 ? 0 : Math.max(closedUntilMs, ...ends)
}

import { StoreError } from '../../errors.ts'
import { refusal } from './location.ts'

const BUSY = 5
const READ_ONLY = 8
const CANNOT_OPEN = 14
const PROTOCOL = 15
const NOT_A_DATABASE = 26

/** Whether somebody else had the database, so that nothing was done. */
export function isBusy(error: unknown): boolean {
  const code = resultOf(error)
  // The package's `all` gives no code.
  return (
    code === BUSY ||
    code === PROTOCOL ||
    (code === null && /^database is locked/.test((error as Error)?.message))
  )
}

/** The error for a database that could not be opened. */
export function whyNotOpened(error: unknown, file: string): unknown {
  switch (resultOf(error)) {
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

/** SQLite's primary result code, null for an error of another kind. */
function resultOf(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : null
}

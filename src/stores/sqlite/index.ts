import { checkOptions, type NamesOf } from '../../core/check.ts'
import type { Store } from '../../core/store.ts'
import { openSqlite } from './open.ts'

export interface SqliteOptions {
  /** The database file. It is created if it is missing; its folder is not. */
  readonly path: string
  /** Opens a file on a network or user-space file system: safe only if no other host opens it too. */
  readonly allowUnsafeFileSystem?: boolean
}

const OPTIONS: NamesOf<SqliteOptions> = { path: true, allowUnsafeFileSystem: true }

/**
 * A store in a file, for every process of one machine. Uses the SQLite of Node 22 and newer, else the package
 * `@photostructure/sqlite`.
 *
 * Throws an `UnsupportedError` without either of them, for a file system whose locks are not safe and for a file of a
 * newer format, an `InvalidArgumentError` for a path that cannot hold a database, and a `StoreError` if it cannot be opened.
 */
export function sqlite(pathOrOptions: string | SqliteOptions): Store {
  const isOptions = typeof pathOrOptions === 'object' && pathOrOptions !== null
  return openSqlite(isOptions ? checkOptions('options', pathOrOptions, OPTIONS) : { path: pathOrOptions })
}

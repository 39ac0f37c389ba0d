import { StoreError } from '../../errors.ts'

/** How PostgreSQL, MariaDB and MySQL say that they take no more connections: of anybody, or of this user. */
const CROWDED: ReadonlySet<unknown> = new Set(['53300', 1040, 1203, 1226])

export function isCrowded(error: unknown): boolean {
  const { code, errno, cause } = (error ?? {}) as { code?: unknown; errno?: unknown; cause?: unknown }
  return CROWDED.has(code) || CROWDED.has(errno) || (cause instanceof Error && isCrowded(cause))
}

export function crowded(cause: unknown): StoreError {
  return new StoreError(
    'the database server takes no more connections (max_connections): raise its limit, let the Locks of a process share one URL or one pool, or lower ?connections= in the URL',
    { cause },
  )
}

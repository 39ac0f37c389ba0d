import { ConflictError, StoreError } from '../../errors.ts'

/** The codes of PostgreSQL, and the numbers of MariaDB and MySQL. */
const DEADLOCK: ReadonlySet<unknown> = new Set(['40P01', 1213, 3058])
/** No more connections: of anybody, or of this user. */
const NO_CONNECTIONS: ReadonlySet<unknown> = new Set(['53300', 1040, 1203, 1226])
const NO_WRITES: ReadonlySet<unknown> = new Set(['25006', 1290, 1792, 1836])

/** The same error, or a `ConflictError` when the database ended a wait in this session to break a deadlock. */
export function orConflict(error: unknown): unknown {
  if (!hasCode(error, DEADLOCK)) return error
  const conflict = new ConflictError(
    'the holders of the lock wait for what is held here, and the database broke the circle: release what you hold, and try again',
  )
  conflict.cause = error
  return conflict
}

export function isOutOfConnections(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown }
  return hasCode(error, NO_CONNECTIONS) || (cause instanceof Error && isOutOfConnections(cause))
}

export function outOfConnections(cause: unknown): StoreError {
  return new StoreError(
    'the database server takes no more connections (max_connections): raise its limit, let the Locks of a process share one URL or one pool, or lower ?connections= in the URL',
    { cause },
  )
}

export function isReadOnly(error: unknown): boolean {
  return hasCode(error, NO_WRITES)
}

export function readOnly(cause: unknown): StoreError {
  return new StoreError(
    'the database server is read-only, so nothing was done: it is a standby or a replica, or it was told to refuse writes',
    { cause },
  )
}

function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  return codes.has(code) || codes.has(errno)
}

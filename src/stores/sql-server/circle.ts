import { ConflictError } from '../../errors.ts'

/** How PostgreSQL, and InnoDB and the server of MySQL and MariaDB, say that sessions wait for each other in a circle. */
const CIRCLES: ReadonlySet<unknown> = new Set(['40P01', 1213, 3058])

/** The same error, or a `ConflictError` when the database ended a wait in this session to break a circle of waits. */
export function orConflict(error: unknown): unknown {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  if (!CIRCLES.has(code) && !CIRCLES.has(errno)) return error
  const conflict = new ConflictError(
    'the lock is held by others who wait for what is held here, and the database found the circle: give back what you have, and try again',
  )
  conflict.cause = error
  return conflict
}

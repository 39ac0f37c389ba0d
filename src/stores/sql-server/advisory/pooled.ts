import { UnsupportedError } from '../../../errors.ts'

/** A lock of a session is worth nothing where statements go to any session. */
export function connectionNotKept(why: string): UnsupportedError {
  return new UnsupportedError(
    `advisory locks need a connection of their own: ${why}; go past it, or leave out advisory`,
  )
}

import { createHash } from 'node:crypto'
import type { Traits } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'

/** One operation of a statement on one lock. */
export interface LockOperation {
  readonly kind: 'lock' | 'unlock'
  readonly shared: boolean
  readonly name: string
}

/** A holder as the server knows it: by its connection. */
export interface SeenHolder {
  readonly label: string
  readonly shared: boolean
}

/** One session of a database server. Its locks end with it. */
export interface SessionConnection {
  /** Does the operations in order in one statement, without waiting for any lock; an empty list proves that the session lives. */
  run(operations: readonly LockOperation[]): Promise<readonly boolean[]>
  /** Makes the server end the session when it hears nothing for that long. */
  keepFor(idleMs: number): Promise<void>
  /** The holders of the lock of that name on other connections. */
  holders(name: string): Promise<readonly SeenHolder[]>
  close(): Promise<void>
}

/** A database whose sessions can hold locks. */
export interface SessionServer {
  readonly traits: Traits
  /** The name of a key's lock in the server. Two keys may share a name, however unlikely that is. */
  nameOf(key: string): string
  /** Opens a session; `lost` is called once when it ends other than by `close`. */
  open(lost: () => void): Promise<SessionConnection>
  close(): Promise<void>
}

/** The first hexadecimal digits of the SHA-256 of a key. */
export function digestOf(key: string, digits: number): string {
  return createHash('sha256').update(key).digest('hex').slice(0, digits)
}

/** A session lock protects nothing where a pooler sends statements to any session. */
export function connectionNotKept(why: string): UnsupportedError {
  return new UnsupportedError(
    `advisory locks need a connection of their own: ${why}; go past it, or leave out advisory`,
  )
}

/** The traits of session locks in any database; `survives` completes what happens to a process that stalls. */
export function sessionTraits(
  { name, modes, scope }: Pick<Traits, 'name' | 'modes' | 'scope'>,
  survives = '',
): Traits {
  return {
    name,
    modes,
    order: 'race',
    fencing: 'none',
    ttlStepMs: 1,
    adoption: false,
    owners: false,
    lockDelay: false,
    groups: false,
    records: false,
    wakeUp: 'poll',
    // The store batches what arrives while a statement is under way.
    immediate: true,
    session: true,
    scope,
    failover: `a lock ends with the connection that holds it, so a restart, a crash or a failover of the server and a connection that is cut end all holds of a process at once, and it learns that a moment after others may have the keys; a process that stands still keeps its locks for the longest ttl that it asked for, at least 5 s${survives}`,
  }
}

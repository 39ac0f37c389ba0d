import type { Traits } from '../../../core/store.ts'

/** What one statement does to one lock. */
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
  /** Takes the steps in their order in one statement, without waiting for any lock; none prove that the session lives. */
  run(steps: readonly LockOperation[]): Promise<readonly boolean[]>
  /** Lets the server end the session when it hears nothing of it for that long. */
  keepFor(idleMs: number): Promise<void>
  /** Who holds the lock of that name on other connections. */
  holders(name: string): Promise<readonly SeenHolder[]>
  close(): Promise<void>
}

/** A database whose sessions can hold locks. */
export interface SessionServer {
  readonly traits: Traits
  /** What the server knows a key by. Two keys may share a name, however unlikely that is. */
  nameOf(key: string): string
  /** Opens a session; `lost` is called once when it ends other than by `close`. */
  open(lost: () => void): Promise<SessionConnection>
  close(): Promise<void>
}

/** Something that lets one after another do its work under a key, over one member of an ensemble. */
export interface Subject {
  /** Waits for the key as long as it takes. */
  run(key: string, work: () => Promise<void>): Promise<void>
  /** One write; only the bare client has it. */
  trip?(): Promise<unknown>
  close(): Promise<void>
}

/** `bare`: the least that a lock can cost through our own client; it does not wait. */
export type Role = 'bare' | 'ours' | 'older' | 'peer'

/** How a subject is opened with the member that it is to use: the same for all that are compared. */
export interface Entry {
  readonly role: Role
  open(endpoint: string): Promise<Subject>
}

export type Catalogue = Readonly<Record<string, Entry>>

export const BARE = 'bare pair'
export const OURS = 'holdfast'

/** Every lock of every subject lives this long, so that none expires by chance. */
export const TTL_MS = 10_000
/** How often a waiter that is told by nobody looks again. */
export const POLL_MS = 5

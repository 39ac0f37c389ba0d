/** Where the servers of a run are: the Redis of all, and the broker of the one that brings its own. */
export interface Addresses {
  readonly redis: string
  readonly brokerPort: number
}

/** Something that lets one after another do its work under a key. */
export interface RedisSubject {
  /** Waits for the key as long as it takes, unless the library gives up by itself. */
  run(key: string, work: () => Promise<void>): Promise<void>
  /** Takes the key and renews it until it is let go; only what can renew by itself has it. */
  hold?(key: string, ttlMs: number): Promise<Held>
  close(): Promise<void>
}

export interface Held {
  /** True if the library still believes that it holds the key. */
  isHeld(): boolean
  release(): Promise<unknown>
}

export type Part = 'sequential' | 'keys' | 'waiters' | 'stock' | 'processes' | 'leases'

/** How a subject is opened, and what it stands for in the tables. */
export interface Entry {
  /** A `limit` is no lock: it shows what the workload leaves room for. An `older` one is a former build of ours. */
  readonly role: 'raw' | 'ours' | 'older' | 'peer' | 'limit'
  /** The one part of the benchmark that it takes part in; every one when left out. */
  readonly only?: Part
  /** The commands that its client sends. Those that a script calls are counted by the server under other names. */
  readonly sends: readonly string[]
  open(addresses: Addresses): Promise<RedisSubject>
}

/** Every lock of every subject lives this long unless a workload says otherwise, so that none expires by chance. */
export const TTL_MS = 10_000

/** How often a waiter that is told by nobody looks again. */
export const POLL_MS = 5

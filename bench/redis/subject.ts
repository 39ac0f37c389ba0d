/** Something that lets one after another do its work under a key. */
export interface RedisSubject {
  /** Waits for the key as long as it takes, unless the library gives up by itself. */
  run(key: string, work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** How a subject is opened, and what it stands for in the tables. */
export interface Entry {
  readonly role: 'raw' | 'ours' | 'peer'
  /** The commands that its client sends. Those that a script calls are counted by the server under other names. */
  readonly sends: readonly string[]
  open(url: string): Promise<RedisSubject>
}

/** Every lock of every subject lives this long unless a workload says otherwise, so that none expires by chance. */
export const TTL_MS = 10_000

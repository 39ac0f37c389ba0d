import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import { type LockOptions, lock } from 'proper-lockfile'

/** Something that lets one after another do its work, for each key. */
export interface Subject {
  /** Called once for every key, before the time runs. */
  prepare(key: string): void
  run(key: string, work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export const SUBJECTS = ['holdfast', 'proper-lockfile (every 5 ms)', 'proper-lockfile (default)'] as const
export type SubjectName = (typeof SUBJECTS)[number]

/** How each waits, for the reader of the figures. */
export const SETTINGS: Readonly<Record<SubjectName, string>> = {
  holdfast: 'sqlite store, defaults, wait: Infinity',
  'proper-lockfile (every 5 ms)':
    'tuned: retries: { forever: true, factor: 1, minTimeout: 5 }, a look every 5 ms',
  'proper-lockfile (default)':
    'retries: { forever: true }, the pauses that it has by default: 1 s, 2 s, 4 s, …',
}

/** Opens a subject whose files are in `folder`. */
export function openSubject(name: SubjectName, folder: string): Subject {
  switch (name) {
    case 'holdfast':
      return holdfast(folder)
    case 'proper-lockfile (every 5 ms)':
      return lockfile(folder, { forever: true, factor: 1, minTimeout: 5 })
    case 'proper-lockfile (default)':
      return lockfile(folder, { forever: true })
  }
}

function holdfast(folder: string): Subject {
  const locks = createLocks({ store: sqlite(join(folder, 'locks.db')), wait: Number.POSITIVE_INFINITY })
  return { prepare() {}, run: (key, work) => locks.using(key, work), close: () => locks.close() }
}

function lockfile(folder: string, retries: Required<LockOptions>['retries']): Subject {
  return {
    prepare: (key) => writeFileSync(join(folder, key), ''),
    async run(key, work) {
      const release = await lock(join(folder, key), { retries })
      await work()
      await release()
    },
    async close() {},
  }
}

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import { type LockOptions, lock } from 'proper-lockfile'

/** Something that lets one process after another do its work. */
export interface Subject {
  run(work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export const SUBJECTS = ['holdfast', 'proper-lockfile (every 5 ms)', 'proper-lockfile (default)'] as const
export type SubjectName = (typeof SUBJECTS)[number]

/** Opens a subject whose files are in `folder`. */
export function openSubject(name: SubjectName, folder: string): Subject {
  switch (name) {
    case 'holdfast':
      return holdfast(folder)
    case 'proper-lockfile (every 5 ms)':
      return lockfile(folder, { forever: true, factor: 1, minTimeout: 5, maxTimeout: 5, randomize: true })
    case 'proper-lockfile (default)':
      return lockfile(folder, { forever: true })
  }
}

function holdfast(folder: string): Subject {
  const locks = createLocks({ store: sqlite(join(folder, 'locks.db')), wait: Number.POSITIVE_INFINITY })
  return { run: (work) => locks.using('key', work), close: () => locks.close() }
}

function lockfile(folder: string, retries: LockOptions['retries']): Subject {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  return {
    async run(work) {
      const release = await lock(file, retries === undefined ? {} : { retries })
      await work()
      await release()
    },
    async close() {},
  }
}

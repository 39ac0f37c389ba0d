import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type LockOptions, lock } from 'proper-lockfile'
import { loadBinding } from '../../src/stores/sqlite/binding.ts'
import { CURRENT, type Library, older } from '../library.ts'
import { OLDER, OLDER_NAMES } from '../older.ts'

/** Something that lets one after another do its work, for each key. */
export interface Subject {
  /** Called once for every key, before the time runs. */
  prepare(key: string): void
  run(key: string, work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export const SUBJECTS = ['holdfast', 'proper-lockfile (every 5 ms)', 'proper-lockfile (default)'] as const
/** No locks, but the least that one takes: what is written, and to wake another process. */
export const STATEMENTS = 'two bare statements'
export const RING = 'a ring of sockets'
export type SubjectName = (typeof SUBJECTS)[number] | typeof STATEMENTS | typeof RING | Older
/** The name of an older build, which begins with `holdfast@`. */
type Older = `holdfast@${string}`
export const OLDERS = OLDER_NAMES as readonly Older[]

/** Which of several processes this is. */
export interface Seat {
  readonly place: number
  readonly places: number
}

/** How the keys begin that a process takes by itself before anything is measured. */
export const WARM_UP = 'warm-up'

/** How each waits, for the reader of the figures. */
export const SETTINGS: Readonly<Record<Exclude<SubjectName, Older>, string>> = {
  holdfast: 'sqlite store, defaults, wait: Infinity',
  'proper-lockfile (every 5 ms)':
    'tuned: retries: { forever: true, factor: 1, minTimeout: 5 }, a look every 5 ms',
  'proper-lockfile (default)':
    'retries: { forever: true }, the pauses that it has by default: 1 s, 2 s, 4 s, …',
  [STATEMENTS]:
    'no lock: a conditional upsert and a conditional update of an SQLite file, written as ours is',
  [RING]: 'no lock: whoever leaves writes a byte to a socket of the next process',
}

/** Opens a subject whose files are in `folder`. */
export async function openSubject(
  name: SubjectName,
  folder: string,
  seat: Seat = { place: 0, places: 1 },
): Promise<Subject> {
  switch (name) {
    case 'holdfast':
      return holdfast(CURRENT, join(folder, 'locks.db'))
    case 'proper-lockfile (every 5 ms)':
      return lockfile(folder, { forever: true, factor: 1, minTimeout: 5 })
    case 'proper-lockfile (default)':
      return lockfile(folder, { forever: true })
    case STATEMENTS:
      return statements(folder)
    case RING:
      return ring(folder, seat)
    default:
      if (name !== OLDER?.name) throw new Error(`no subject is called ${name}`)
      return holdfast(await older(), join(folder, 'older.db'))
  }
}

function holdfast({ createLocks, sqlite }: Library, file: string): Subject {
  const locks = createLocks({ store: sqlite(file), wait: Number.POSITIVE_INFINITY })
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

function statements(folder: string): Subject {
  const { DatabaseSync } = loadBinding()
  const database = new DatabaseSync(join(folder, 'bare.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec('CREATE TABLE bare (key TEXT PRIMARY KEY, holder TEXT) WITHOUT ROWID')
  const take = database.prepare(`INSERT INTO bare VALUES (?, ?) ON CONFLICT (key) DO UPDATE
    SET holder = excluded.holder WHERE holder IS NULL`)
  const give = database.prepare('UPDATE bare SET holder = NULL WHERE key = ? AND holder = ?')
  return {
    prepare() {},
    async run(key, work) {
      take.run(key, 'me')
      await work()
      give.run(key, 'me')
    },
    close: async () => database.close(),
  }
}

function ring(folder: string, { place, places }: Seat): Subject {
  const socketOf = (place: number): string => join(folder, `ring-${place}`)
  let begin = (): void => {}
  let turn = Promise.resolve()
  const wait = (): void => {
    turn = new Promise((resolve) => {
      begin = resolve
    })
  }
  // The first place begins; everybody else is told.
  if (place > 0) wait()
  const server = createServer((socket) => socket.on('data', () => begin())).listen(socketOf(place))
  const listening = once(server, 'listening')
  let next: Socket | null = null
  return {
    prepare() {},
    async run(key, work) {
      await listening
      if (key.startsWith(WARM_UP)) return work()
      await turn
      await work()
      wait()
      next ??= connect(socketOf((place + 1) % places))
      next.write('.')
    },
    close: async () => void server.close(),
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { connect, createLocks, type Locks } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

const LIMIT = 10
/** As many as share a server with `Locks` in a process of their own, each with a connection for statements and maybe one that listens. */
const APART = 100

const [postgresServer, mariadbServer] = await Promise.all([
  startPostgres({ settings: [`max_connections=${APART * 2 + 50}`] }),
  startMariadb(),
])
/** With the connections that a server takes by default. */
const small = await startPostgres()
afterAll(() => Promise.all([postgresServer.stop(), mariadbServer.stop(), small.stop()]))

interface Opened {
  readonly locks: Locks
  close(): Promise<unknown>
}

type Open = () => Promise<Opened>

const byUrl = (url: string) => async (): Promise<Opened> => {
  const locks = await connect(url, { wait: '1m' })
  return { locks, close: () => locks.close() }
}

/** Nothing in common with others but the server, as in a process of its own. */
async function apartOnPostgres(): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: postgresServer.url, max: 1 })
  const locks = createLocks({ store: postgres(pool), wait: '1m' })
  return { locks, close: () => locks.close().then(() => pool.end()) }
}

async function apartOnMariadb(): Promise<Opened> {
  const pool = mysql2.createPool({ uri: mariadbServer.url, connectionLimit: 1 })
  const locks = createLocks({ store: mysql(pool), wait: '1m' })
  return { locks, close: () => locks.close().then(() => pool.end()) }
}

/** How each of a crowd uses a key, and how one takes all of it. */
const MODES = {
  exclusive: { each: (locks: Locks, key: string) => locks.mutex(key), all: exclusive, most: 1 },
  shared: { each: (locks: Locks, key: string) => locks.rw(key).read, all: exclusive, most: 1000 },
  permits: {
    each: (locks: Locks, key: string) => locks.semaphore(key, { limit: LIMIT }),
    all: (locks: Locks, key: string) => locks.semaphore(key, { limit: LIMIT, weight: LIMIT }),
    most: LIMIT,
  },
}

function exclusive(locks: Locks, key: string) {
  return locks.rw(key).write
}

/** All wait behind one holder, who lets go when everybody has joined; then another takes the key. Resolves to how many are served a second. */
async function serve(open: Open, mode: keyof typeof MODES, count: number): Promise<number> {
  const { each, all, most } = MODES[mode]
  const opened: Opened[] = []
  try {
    while (opened.length < count + 2) opened.push(await open())
    const [holder, writer, ...crowd] = opened.map(({ locks }) => locks) as [Locks, Locks, ...Locks[]]
    // The first statement of each finds or makes the tables.
    await Promise.all(crowd.map((locks) => locks.read('warm')))
    const troubles: unknown[] = []
    for (const locks of crowd) {
      locks.on('storeFailed', ({ error }) => troubles.push(error))
      locks.on('lost', ({ cause }) => troubles.push(cause))
    }
    const key = `crowd of ${count}, ${mode}`
    const first = await all(holder, key).acquire()
    const tokens: bigint[] = []
    let [inside, together] = [0, 0]
    const work = crowd.map((locks) =>
      each(locks, key).using(async ({ token }) => {
        tokens.push(token as bigint)
        together = Math.max(together, ++inside)
        await sleep(1)
        inside--
      }),
    )
    await expect.poll(async () => (await holder.read(key)).queue.length, { timeout: 30_000 }).toBe(count)
    const startedMs = performance.now()
    await first.release()
    await Promise.all(work)
    const rate = (count * 1000) / (performance.now() - startedMs)
    await all(writer, key).using(() => {
      expect(inside).toBe(0)
    })
    expect(troubles).toEqual([])
    expect(tokens).toHaveLength(count)
    expect(together).toBeLessThanOrEqual(most)
    if (mode === 'exclusive') expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
    return rate
  } finally {
    await Promise.all(opened.map(({ close }) => close()))
  }
}

describe.each([
  ['PostgreSQL', byUrl(small.url), apartOnPostgres],
  ['MariaDB', byUrl(mariadbServer.url), apartOnMariadb],
] as const)('%s', (name, together, apart) => {
  it.each(['exclusive', 'shared', 'permits'] as const)(
    'serves 200 Locks of one process on one key: %s',
    async (mode) => {
      const few = await serve(together, mode, 10)
      const many = await serve(together, mode, 200)
      console.log(`${name}, ${mode}: ${few.toFixed(0)} a second of 10, ${many.toFixed(0)} of 200`)
      expect(many).toBeGreaterThan(few / 4)
    },
    120_000,
  )

  it(`serves ${APART} Locks that share nothing but the key, in every mode`, async () => {
    const exclusives = await serve(apart, 'exclusive', APART)
    const readers = await serve(apart, 'shared', APART)
    const permits = await serve(apart, 'permits', APART)
    const rates = [exclusives, readers, permits].map((rate) => rate.toFixed(0))
    console.log(`${name}: ${rates.join(', ')} a second of ${APART} apart`)
    // Readers need not wait for each other, nor do as many as there are permits.
    expect(readers).toBeGreaterThan(exclusives)
    expect(permits).toBeGreaterThan(exclusives / 4)
  }, 180_000)
})

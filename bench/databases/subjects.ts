import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from 'holdfast'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { CURRENT, type Library, older } from '../library.ts'
import { OLDER_NAMES, olderEntry } from '../older.ts'
import { load } from '../redis/load.ts'
import type { VerrouModule } from '../redis/peer-shapes.ts'

export type DatabaseName = 'PostgreSQL' | 'MariaDB'

/** Something that lets one in at a time. */
export interface Subject {
  run(key: string, work: () => Promise<unknown>): Promise<unknown>
  close(): Promise<unknown>
}

export const BARE = 'bare advisory lock'
export const ADVISORY = 'holdfast, advisory'
export const LEASE = 'holdfast'
export const ADVISORY_LOCK = 'advisory-lock'
export const RING = 'a ring of NOTIFY'
/** Leases of ours, and those of an older build where one takes part. */
export const LEASES: readonly string[] = [LEASE, ...OLDER_NAMES]
export const VERROU = ['verrou (Knex)', 'verrou (Kysely)'] as const

/** The polling interval of a waiter, where a library has such an option. */
const POLL_MS = 5
const TTL_MS = 10_000
/** Formats differ between builds. */
const OLDER_TABLE = { table: 'older_build' }
const LONGEST_TURN_MS = 1000
/** How the keys begin that a process takes by itself before anything is measured. */
export const WARM_UP = 'warm-up'

/** Which of several processes this is. */
export interface Seat {
  readonly place: number
  readonly places: number
}

type Open = (url: string, seat: Seat) => Promise<Subject>

type AdvisoryLock = (url: string) => (name: string) => {
  withLock(work: () => Promise<unknown>): Promise<unknown>
}
interface Destroyable {
  destroy(): Promise<void>
}
interface KyselyModule {
  Kysely: new (options: object) => Destroyable
  PostgresDialect: new (options: object) => object
  MysqlDialect: new (options: object) => object
}

export const SUBJECTS: Readonly<Record<DatabaseName, Readonly<Record<string, Open>>>> = {
  PostgreSQL: {
    [BARE]: async (url) => {
      const pool = new pg.Pool({ connectionString: url })
      // A lock of a session must be given back on the connection that took it.
      const run: Subject['run'] = async (key, work) => {
        const client = await pool.connect()
        const values = [key]
        await client.query({ name: 'lock', text: 'SELECT pg_advisory_lock(hashtext($1))', values })
        await work()
        await client.query({ name: 'unlock', text: 'SELECT pg_advisory_unlock(hashtext($1))', values })
        client.release()
      }
      return { run, close: () => pool.end() }
    },
    [ADVISORY]: async (url) => {
      const pool = new pg.Pool({ connectionString: url })
      return ours(
        CURRENT.createLocks({ store: CURRENT.postgres(pool, { advisory: true }), wait: 60_000 }),
        pool,
      )
    },
    [LEASE]: (url) => overPostgres(CURRENT, url),
    ...olderEntry<Open>(async (url) => overPostgres(await older(), url, OLDER_TABLE)),
    [RING]: ring,
    [ADVISORY_LOCK]: async (url) => {
      const { default: library } = await load<{ default: { default: AdvisoryLock } }>('advisory-lock')
      // A module of the older kind: its own default is inside the one that it is given.
      const make = library.default(url)
      return { run: (key, work) => make(key).withLock(work), close: async () => {} }
    },
    [VERROU[0]]: (url) => overKnex('pg', url),
    [VERROU[1]]: async (url) => {
      const { Kysely, PostgresDialect } = await load<KyselyModule>('kysely')
      return overKysely(
        new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) }),
      )
    },
  },
  MariaDB: {
    [BARE]: async (url) => {
      const pool = mysql2.createPool(url)
      const run: Subject['run'] = async (key, work) => {
        const connection = await pool.getConnection()
        await connection.query('SELECT GET_LOCK(?, 60)', [key])
        await work()
        await connection.query('SELECT RELEASE_LOCK(?)', [key])
        connection.release()
      }
      return { run, close: () => pool.end() }
    },
    [ADVISORY]: async (url) => {
      const pool = mysql2.createPool(url)
      return ours(CURRENT.createLocks({ store: CURRENT.mysql(pool, { advisory: true }), wait: 60_000 }), pool)
    },
    [LEASE]: (url) => overMariadb(CURRENT, url),
    ...olderEntry<Open>(async (url) => overMariadb(await older(), url, OLDER_TABLE)),
    [VERROU[0]]: (url) => overKnex('mysql2', url),
    [VERROU[1]]: async (url) => {
      const { Kysely, MysqlDialect } = await load<KyselyModule>('kysely')
      const { default: callbacks } = await load<{ default: { createPool(url: string): object } }>('mysql2')
      return overKysely(new Kysely({ dialect: new MysqlDialect({ pool: callbacks.createPool(url) }) }))
    },
  },
}

/**
 * No lock, but the least that a hand-off by NOTIFY takes: whoever leaves writes a row and tells the next one, in a fixed order. Nobody
 * asks for a place, and nothing has to be on the disk.
 */
async function ring(url: string, { place, places }: Seat): Promise<Subject> {
  const [sender, listener] = [new pg.Client(url), new pg.Client(url)]
  await Promise.all([sender.connect(), listener.connect()])
  await sender.query('SELECT pg_advisory_lock(0)')
  await sender.query('CREATE TABLE IF NOT EXISTS ring (place int PRIMARY KEY, turns bigint)')
  await sender.query('INSERT INTO ring VALUES ($1, 0) ON CONFLICT DO NOTHING', [place])
  await sender.query('SELECT pg_advisory_unlock(0)')
  await sender.query('SET synchronous_commit = off')
  await listener.query(`LISTEN ring${place}`)
  let turn = Promise.resolve()
  let begin = (): void => {}
  listener.on('notification', () => begin())
  const wait = (): void => {
    turn = new Promise((resolve) => {
      begin = resolve
    })
  }
  // The first place begins; everybody else is told.
  if (place > 0) wait()
  const text = `WITH done AS (UPDATE ring SET turns = turns + 1 WHERE place = $1 RETURNING turns)
    SELECT pg_notify($2, turns::text) FROM done`
  return {
    async run(key, work) {
      // A warm-up is done alone and not passed on.
      if (key.startsWith(WARM_UP)) {
        await work()
        await sender.query({ name: 'pass', text, values: [place, 'nobody'] })
        return
      }
      // When the time is up the ring breaks, and whoever still waits has waited in vain.
      const mine = await Promise.race([turn.then(() => true), sleep(LONGEST_TURN_MS, false, { ref: false })])
      if (!mine) return
      await work()
      wait()
      await sender.query({ name: 'pass', text, values: [place, `ring${(place + 1) % places}`] })
    },
    close: async () => void (await Promise.all([sender.end(), listener.end()])),
  }
}

async function overPostgres({ createLocks, postgres }: Library, url: string, tables = {}): Promise<Subject> {
  const pool = new pg.Pool({ connectionString: url })
  return ours(createLocks({ store: postgres(pool, tables), wait: 60_000 }), pool)
}

async function overMariadb({ createLocks, mysql }: Library, url: string, tables = {}): Promise<Subject> {
  const pool = mysql2.createPool(url)
  return ours(createLocks({ store: mysql(pool, tables), wait: 60_000 }), pool)
}

function ours(locks: Locks, pool: { end(): Promise<void> }): Subject {
  return {
    run: (key, work) => locks.using(key, work),
    close: async () => {
      await locks.close()
      await pool.end()
    },
  }
}

async function overKnex(client: string, connection: string): Promise<Subject> {
  const { default: knex } = await load<{ default(options: object): Destroyable }>('knex')
  const { knexStore } = await load<{ knexStore(options: object): { factory(): object } }>(
    '@verrou/core/drivers/knex',
  )
  const database = knex({ client, connection })
  return overVerrou(knexStore({ connection: database, tableName: 'verrou_knex' }).factory(), database)
}

async function overKysely(database: Destroyable): Promise<Subject> {
  const { kyselyStore } = await load<{ kyselyStore(options: object): { factory(): object } }>(
    '@verrou/core/drivers/kysely',
  )
  return overVerrou(kyselyStore({ connection: database, tableName: 'verrou_kysely' }).factory(), database)
}

async function overVerrou(store: object, database: Destroyable): Promise<Subject> {
  const { LockFactory } = await load<VerrouModule>('@verrou/core')
  const factory = new LockFactory(store, { retry: { delay: POLL_MS } })
  return {
    async run(key, work) {
      const lock = factory.createLock(key, TTL_MS)
      // When many ask at once, the database may end one of them because of a deadlock; its user would ask again.
      while (!(await lock.acquire().catch(() => false)));
      await work()
      await lock.release()
    },
    close: () => database.destroy(),
  }
}

import { createLocks, type Locks, type Store } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mariadb from 'mariadb'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import postgresJs from 'postgres'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { claimOf } from '../sqlite/claims.ts'

const COUNT = 200
const POOL = 10
const NAME = 'shared'

/** PostgreSQL with the 100 connections that it takes by default; the other tests have more. */
const [postgresServer, mariadbServer] = await Promise.all([
  startPostgres({ settings: ['max_connections=100'] }),
  startMariadb(),
])
const operator = new pg.Client(postgresServer.url)
await operator.connect()
const mysqlOperator = await mysql2.createConnection(mariadbServer.url)
const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})
afterAll(async () => {
  await Promise.all([operator.end(), mysqlOperator.end()])
  await Promise.all([postgresServer.stop(), mariadbServer.stop()])
})

async function postgresConnections(): Promise<number> {
  const { rows } = await operator.query(
    'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1',
    [NAME],
  )
  return rows[0].count
}

async function mariadbConnections(): Promise<number> {
  const [rows] = await mysqlOperator.query(`SHOW GLOBAL STATUS LIKE 'Threads_connected'`)
  return Number((rows as { Value: string }[])[0]?.Value) - 1
}

function overPg(max: number): (table?: string) => Store {
  const pool = new pg.Pool({ connectionString: postgresServer.url, application_name: NAME, max })
  opened.push({ close: () => pool.end() })
  return (table) => postgres(pool, table === undefined ? {} : { table })
}

function overPostgresJs(max: number): (table?: string) => Store {
  const onnotice = () => {}
  const sql = postgresJs(postgresServer.url, { connection: { application_name: NAME }, max, onnotice })
  opened.push({ close: () => sql.end({ timeout: 1 }) })
  return (table) => postgres(sql, table === undefined ? {} : { table })
}

function overMysql2(connectionLimit: number): () => Store {
  const pool = mysql2.createPool({ uri: mariadbServer.url, connectionLimit })
  opened.push({ close: () => pool.end() })
  return () => mysql(pool)
}

function overMariadb(connectionLimit: number): () => Store {
  const url = mariadbServer.url.replace('mysql:', 'mariadb:')
  const pool = mariadb.createPool(`${url}?connectionLimit=${connectionLimit}&minimumIdle=0`)
  opened.push({ close: () => pool.end() })
  return () => mysql(pool)
}

function locksOver(store: Store): Locks {
  const locks = createLocks({ store, wait: 60_000 })
  opened.push(locks)
  return locks
}

describe.each([
  ['pg', overPg, postgresConnections, POOL + 1],
  ['postgres', overPostgresJs, postgresConnections, POOL + 1],
  ['mysql2', overMysql2, mariadbConnections, POOL],
  ['mariadb', overMariadb, mariadbConnections, POOL],
] as const)('%s', (name, over, connections, most) => {
  it(`serves ${COUNT} Locks over one pool of ${POOL} with ${most} connections`, async () => {
    await expect.poll(connections, { timeout: 15_000 }).toBe(0)
    const storeOf = over(POOL)
    const holder = locksOver(storeOf())
    const all = Array.from({ length: COUNT }, () => locksOver(storeOf()))
    const lease = await holder.acquire(name)
    const seen: number[] = []
    const failures: unknown[] = []
    for (const locks of all) locks.on('storeFailed', ({ error }) => failures.push(error))
    const served = all.map((locks) => locks.using(name, async () => seen.push(await connections())))
    await expect.poll(async () => (await holder.read(name)).queue.length, { timeout: 30_000 }).toBe(COUNT)
    await lease.release()
    await Promise.all(served)
    expect(failures).toEqual([])
    expect(seen).toHaveLength(COUNT)
    expect(Math.max(...seen)).toBeLessThanOrEqual(most)
  }, 90_000)
})

describe.each([
  ['pg', overPg, 1],
  ['postgres', overPostgresJs, 0],
] as const)('%s: the connection that listens', (_, over, left) => {
  it('is closed with the last of the Locks over its pool', async () => {
    await expect.poll(postgresConnections, { timeout: 15_000 }).toBe(0)
    const storeOf = over(1)
    const [first, last] = [locksOver(storeOf()), locksOver(storeOf())]
    for (const locks of [first, last]) await locks.using('key', () => {})
    await expect.poll(postgresConnections).toBe(2)
    await first.close()
    await last.using('key', () => {})
    expect(await postgresConnections()).toBe(2)
    await last.close()
    await expect.poll(postgresConnections).toBe(left)
    await locksOver(storeOf()).using('key', () => {})
    await expect.poll(postgresConnections).toBe(2)
  })
})

it('Locks with different options over one pool share nothing', async () => {
  await expect.poll(postgresConnections, { timeout: 15_000 }).toBe(0)
  const storeOf = overPg(1)
  const [one, other] = [locksOver(storeOf('one')), locksOver(storeOf('other'))]
  const leases = [await one.acquire('key'), await other.acquire('key')]
  expect(leases.map(({ held }) => held)).toEqual([true, true])
  await expect.poll(postgresConnections).toBe(3)
})

it('many holds of one process beside those of another are renewed by few statements', async () => {
  const pool = new pg.Pool({ connectionString: postgresServer.url, max: 1 })
  opened.push({ close: () => pool.end() })
  const [store, other] = [postgres(pool), overPg(1)()]
  opened.push(store, other)
  const readers = () =>
    Array.from({ length: 50 }, (_, n) => claimOf(`read ${n}`, { mode: { kind: 'shared' }, ttlMs: 60_000 }))
  const claims = readers()
  await other.attempt(readers())
  for (const { kind } of await store.attempt(claims)) expect(kind).toBe('granted')
  let statements = 0
  pool.on('acquire', () => statements++)
  for (const { kind } of await store.renew(claims)) expect(kind).toBe('renewed')
  expect(statements).toBeLessThanOrEqual(4)
})

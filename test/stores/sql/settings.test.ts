import { createLocks, type Locks, type Store } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

/** Servers that were set up for other programs than ours. */
const servers = await Promise.all([
  startPostgres({ settings: ['default_transaction_isolation=serializable'] }),
  startPostgres({ settings: ['default_transaction_isolation=repeatable read'] }),
  startMariadb({ settings: ['--transaction-isolation=SERIALIZABLE'] }),
])
const [serializable, repeatable, mariadb] = servers
const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})
afterAll(() => Promise.all(servers.map((server) => server.stop())))

interface Tx {
  readonly handle: object
  run(text: string): Promise<readonly { readonly n?: number }[]>
  release(): void
}

const begunOnPg = async (url: string): Promise<Tx> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  return {
    handle: client,
    run: async (text) => (await client.query(text)).rows,
    release: () => void client.end(),
  }
}
const begunOnMysql = async (url: string): Promise<Tx> => {
  const connection = await mysql2.createConnection(url)
  await connection.query('BEGIN')
  return {
    handle: connection,
    run: async (text) => (await connection.query(text))[0] as { n?: number }[],
    release: () => connection.destroy(),
  }
}

const overPg = (url: string): Store => {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  opened.push({ close: () => pool.end() })
  return postgres(pool)
}
const overMysql = (url: string): Store => {
  const pool = mysql2.createPool({ uri: url, connectionLimit: 2 })
  opened.push({ close: () => pool.end() })
  return mysql(pool)
}
const locksOf = (store: Store): Locks => {
  const locks = createLocks({ store })
  opened.push(locks)
  return locks
}

describe.each([
  ['PostgreSQL, serializable', () => overPg(serializable.url)],
  ['PostgreSQL, repeatable read', () => overPg(repeatable.url)],
  ['MariaDB, serializable', () => overMysql(mariadb.url)],
])('%s: 20 contenders', (_, storeOf) => {
  it.each([
    ['one key', 1],
    ['20 keys', 20],
  ])(
    'on %s exclude each other, all progress, and none sees an outage',
    async (_what, count) => {
      const crowd = Array.from({ length: 20 }, () => locksOf(storeOf()))
      const failures: unknown[] = []
      const inside = new Map<string, number>()
      let turns = 0
      let together = 0
      await Promise.all(
        crowd.map(async (locks, number) => {
          locks.on('storeFailed', ({ error }) => failures.push(String(error)))
          for (let round = 0; round < 10; round++) {
            const key = `key ${(number + round * 7) % count}`
            await locks.using(key, { wait: 60_000, ttl: 20_000 }, async () => {
              const others = inside.get(key) ?? 0
              inside.set(key, others + 1)
              together = Math.max(together, others)
              await new Promise(setImmediate)
              inside.set(key, (inside.get(key) ?? 0) - 1)
              turns++
            })
          }
          for await (const _ of locks.list()) break
          await locks.read('key 0')
        }),
      )
      expect([turns, together, failures]).toEqual([200, 0, []])
    },
    90_000,
  )
})

describe.each([
  ['PostgreSQL, serializable', serializable.url, overPg, begunOnPg],
  ['PostgreSQL, repeatable read', repeatable.url, overPg, begunOnPg],
  ['MariaDB, serializable', mariadb.url, overMysql, begunOnMysql],
] as const)('%s: transactions of that level', (_, url, storeOf, begin) => {
  it('lose no update under locks within them, and at most have to retry', async () => {
    const locks = locksOf(storeOf(url))
    const setUp = await begin(url)
    await setUp.run('COMMIT')
    await setUp.run('CREATE TABLE counter (n INT NOT NULL)')
    await setUp.run('INSERT INTO counter VALUES (0)')
    const again: unknown[] = []
    const add = async (): Promise<void> => {
      const tx = await begin(url)
      try {
        await locks.within(tx.handle, 'counter', { wait: 20_000 }, async () => {
          const [row] = await tx.run('SELECT n FROM counter')
          await tx.run(`UPDATE counter SET n = ${(row?.n as number) + 1}`)
        })
        await tx.run('COMMIT')
      } catch (error) {
        again.push((error as { code?: unknown }).code)
        await tx.run('ROLLBACK')
        await add()
      } finally {
        tx.release()
      }
    }
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let round = 0; round < 5; round++) await add()
      }),
    )
    expect(await setUp.run('SELECT n FROM counter')).toEqual([{ n: 20 }])
    setUp.release()
    expect(again.filter((code) => code !== 'CONFLICT')).toEqual([])
  }, 60_000)
})

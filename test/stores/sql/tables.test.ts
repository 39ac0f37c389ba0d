import { connect, createLocks } from 'holdfast'
import { mysql, migration as mysqlMigration } from 'holdfast/mysql'
import { postgres, migration as postgresMigration } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { Records } from '../../../src/core/store.ts'
import { claimOf } from '../sqlite/claims.ts'

const [server, mariadb] = await Promise.all([startPostgres(), startMariadb()])
const pool = new pg.Pool({ connectionString: server.url })
const mysqlPool = mysql2.createPool({ uri: mariadb.url, multipleStatements: true })
afterAll(async () => {
  await pool.end()
  await mysqlPool.end()
  await Promise.all([server.stop(), mariadb.stop()])
})

it('PostgreSQL: tables of a printed migration serve a user who may create none', async () => {
  await pool.query('CREATE SCHEMA app')
  await pool.query(postgresMigration('app.locks'))
  await pool.query('CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA app TO guest')
  await pool.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO guest')
  const locks = await connect(`${server.url.replace('postgres@', 'guest@')}?table=app.locks`)
  onTestFinished(() => locks.close())
  expect(await locks.using('key', (lease) => lease.held)).toBe(true)
})

it('MariaDB: tables of a printed migration serve a user who may create none', async () => {
  await mysqlPool.query(mysqlMigration('locks'))
  await mysqlPool.query(
    `CREATE USER guest@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.* TO guest@'%'`,
  )
  const locks = await connect(`${mariadb.url.replace('root@', 'guest@')}?table=locks`)
  onTestFinished(() => locks.close())
  expect(await locks.using('key', (lease) => lease.held)).toBe(true)
})

it('names of tables are checked before they are used', () => {
  for (const table of [
    '',
    'a b',
    'a"; DROP TABLE x; --',
    'a.b.c',
    '1a',
    'a`b',
    'ä',
    'x'.repeat(41),
    7 as never,
  ]) {
    expect(() => postgres(pool, { table }), String(table)).toThrow(/^table must be/)
    expect(() => mysql(mysqlPool, { table }), String(table)).toThrow(/^table must be/)
  }
})

it.each(['PostgreSQL', 'MariaDB'])(
  '%s: rows that are no longer needed are removed in parallel to the calls',
  async (name) => {
    const isPostgres = name === 'PostgreSQL'
    const run = async (text: string): Promise<Record<string, unknown>[]> =>
      isPostgres
        ? (await pool.query(text)).rows
        : ((await mysqlPool.query(text))[0] as Record<string, unknown>[])
    const locks = createLocks({ store: isPostgres ? postgres(pool) : mysql(mysqlPool) })
    onTestFinished(() => locks.close())
    await locks.using('first', () => {})
    const key = isPostgres ? 'key' : '`key`'
    await run(`INSERT INTO holdfast_keys (${key}, revision, seq, expires_at, forget_at) VALUES
    ${Array.from({ length: 200 }, (_, row) => `('old ${row}', 1, 1, 0, ${row})`).join(', ')}`)
    const old = async () =>
      Number((await run(`SELECT count(*) AS count FROM holdfast_keys WHERE forget_at < 1000`))[0]?.count)
    expect(await old()).toBe(200)
    for (let round = 0; (await old()) > 0; round++) {
      expect(round, 'they must go').toBeLessThan(500)
      await locks.using('busy', () => {})
    }
  },
)

it.each(['PostgreSQL', 'MariaDB'])(
  '%s: clean-up keeps pace with the keys that come, however many travel in one call',
  async (name) => {
    const isPostgres = name === 'PostgreSQL'
    const run = async (text: string): Promise<Record<string, unknown>[]> =>
      isPostgres
        ? (await pool.query(text)).rows
        : ((await mysqlPool.query(text))[0] as Record<string, unknown>[])
    const options = { table: 'pace' }
    const store = isPostgres ? postgres(pool, options) : mysql(mysqlPool, options)
    onTestFinished(() => store.close())
    await store.admin.read('')
    const key = isPostgres ? 'key' : '`key`'
    await run(`INSERT INTO pace_keys (${key}, revision, seq, expires_at, forget_at) VALUES
      ${Array.from({ length: 4000 }, (_, row) => `('old ${row}', 1, 1, 0, ${row})`).join(', ')}`)
    const old = async () =>
      Number((await run('SELECT count(*) AS count FROM pace_keys WHERE forget_at < 10000'))[0]?.count)
    for (let call = 0; call < 10; call++) {
      const claims = Array.from({ length: 200 }, (_, n) => claimOf(`new ${call} ${n}`))
      await store.attempt(claims)
      await store.release(claims)
    }
    await expect.poll(old, { timeout: 10_000 }).toBeLessThan(100)
  },
)

it.each(['PostgreSQL', 'MariaDB'])(
  '%s: clean-up keeps pace with the records that come, however many travel in one call',
  async (name) => {
    const isPostgres = name === 'PostgreSQL'
    const run = async (text: string): Promise<Record<string, unknown>[]> =>
      isPostgres
        ? (await pool.query(text)).rows
        : ((await mysqlPool.query(text))[0] as Record<string, unknown>[])
    const options = { table: 'record_pace' }
    const store = isPostgres ? postgres(pool, options) : mysql(mysqlPool, options)
    onTestFinished(() => store.close())
    const records = store.records as Required<Records>
    await records.read('')
    const key = isPostgres ? 'key' : '`key`'
    await run(`INSERT INTO record_pace_records (${key}, revision, version, forget_at) VALUES
      ${Array.from({ length: 4000 }, (_, row) => `('old ${row}', 1, 1, ${row})`).join(', ')}`)
    const old = async () =>
      Number(
        (await run('SELECT count(*) AS count FROM record_pace_records WHERE forget_at < 10000'))[0]?.count,
      )
    for (let call = 0; call < 10; call++)
      await records.writeAll(
        Array.from({ length: 200 }, (_, n) => {
          return { key: `new ${call} ${n}`, value: '', ttlMs: 60_000, condition: { kind: 'always' } }
        }),
      )
    await expect.poll(old, { timeout: 10_000 }).toBeLessThan(100)
  },
)

it.each(['PostgreSQL', 'MariaDB'])(
  '%s: a value is removed when its ttl is over, its version a day later',
  async (name) => {
    const isPostgres = name === 'PostgreSQL'
    const run = async (text: string): Promise<Record<string, unknown>[]> =>
      isPostgres
        ? (await pool.query(text)).rows
        : ((await mysqlPool.query(text))[0] as Record<string, unknown>[])
    const options = { table: 'ending' }
    const store = isPostgres ? postgres(pool, options) : mysql(mysqlPool, options)
    onTestFinished(() => store.close())
    const records = store.records as Records
    const always = { kind: 'always' } as const
    await records.write('short', 'x'.repeat(50_000), 1000, always)
    await records.write('stays', 'y', null, always)
    const key = isPostgres ? 'key' : '`key`'
    const rows = async () => {
      const found = await run(
        `SELECT ${key} AS name, value, forget_at FROM ending_records WHERE forget_at IS NOT NULL`,
      )
      return found.map(({ name, value, forget_at }) => [String(name), value, Number(forget_at)] as const)
    }
    const [[, , endsAtMs] = []] = await rows()
    const tidied = async () => {
      for (let call = 0; call < 50; call++) await records.read('stays')
      return (await rows())[0]?.slice(0, 2)
    }
    await expect.poll(tidied, { timeout: 15_000, interval: 200 }).toEqual(['short', null])
    expect((await rows())[0]?.[2]).toBe((endsAtMs as number) + 86_400_000)
    await run(`UPDATE ending_records SET forget_at = 1 WHERE value IS NULL`)
    await expect.poll(tidied, { timeout: 15_000, interval: 200 }).toBeUndefined()
    expect(await records.read('stays')).toMatchObject({ value: 'y' })
  },
)

it('MariaDB: different releases of one call each have an answer of their own', async () => {
  const otherPool = mysql2.createPool({ uri: mariadb.url, connectionLimit: 2 })
  const [store, other] = [mysql(mysqlPool), mysql(otherPool)]
  onTestFinished(async () => {
    await store.close()
    await other.close()
    await otherPool.end()
  })
  const [alone, waitedFor, third, gone] = ['alone', 'waited for', 'third', 'gone'].map((key) => claimOf(key))
  const held = [alone, waitedFor, third] as ReturnType<typeof claimOf>[]
  const kinds = (answers: readonly { kind: string }[]) => answers.map(({ kind }) => kind)
  expect(kinds(await store.attempt(held))).toEqual(['granted', 'granted', 'granted'])
  const waiter = claimOf('waited for')
  expect(kinds(await other.attempt([waiter]))).toEqual(['blocked'])
  // A row that somebody keeps locked has nothing to do with them.
  const stranger = await mysqlPool.getConnection()
  await stranger.query(`BEGIN; INSERT INTO holdfast_keys (\`key\`, revision, seq, expires_at, forget_at)
    VALUES ('locked', 1, 1, 0, 0)`)
  const all = await store.release([...held, gone as (typeof held)[0]])
  await stranger.query('ROLLBACK')
  stranger.release()
  expect(kinds(all)).toEqual(['released', 'released', 'released', 'absent'])
  expect(kinds(await other.renew([waiter]))).toEqual(['renewed'])
  expect(kinds(await store.attempt([waitedFor as (typeof held)[0]]))).toEqual(['blocked'])
  expect(kinds(await other.release([waiter]))).toEqual(['released'])
})

it('durability full waits for the disk with a claim and not with a release, relaxed never does', async () => {
  const modes: Record<string, string[]> = {}
  for (const durability of ['full', 'relaxed'] as const) {
    await pool.query('DROP TABLE IF EXISTS audit; CREATE TABLE audit (place serial, mode text)')
    const locks = createLocks({ store: postgres(pool, { durability, table: `dur_${durability}` }) })
    await locks.using('warm', () => {})
    await pool.query(`CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO audit (mode) VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
      CREATE TRIGGER audit BEFORE UPDATE ON dur_${durability}_keys FOR EACH ROW EXECUTE FUNCTION audit()`)
    await locks.using('warm', () => {})
    await locks.close()
    const { rows } = await pool.query('SELECT mode FROM audit ORDER BY place')
    modes[durability] = rows.map(({ mode }) => mode)
  }
  expect(modes).toEqual({ full: ['on', 'off'], relaxed: ['off', 'off'] })
})

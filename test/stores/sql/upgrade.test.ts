import { connect } from 'holdfast'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { migrateMysql } from '../../../src/stores/sql-server/mysql/open.ts'
import { migratePostgres } from '../../../src/stores/sql-server/postgres/open.ts'

const [postgres, mariadb] = await Promise.all([startPostgres(), startMariadb()])
const pool = new pg.Pool({ connectionString: postgres.url })
const mysqlPool = mysql2.createPool({ uri: mariadb.url, multipleStatements: true })
afterAll(async () => {
  await Promise.all([pool.end(), mysqlPool.end()])
  await Promise.all([postgres.stop(), mariadb.stop()])
})

/** The tables of format 1, as far as they differ. */
const FIRST = `INSERT INTO holdfast_meta (name, value) VALUES ('format', '1');`
const POSTGRES = `CREATE TABLE holdfast_meta (name text PRIMARY KEY, value text NOT NULL);
  CREATE TABLE holdfast_keys (key text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL, seq bigint NOT NULL,
    holder text, expires_at bigint NOT NULL, state text, forget_at bigint NOT NULL);
  CREATE TABLE holdfast_records (key text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL, version bigint NOT NULL,
    value text, expires_at bigint, forget_at bigint); ${FIRST}`
const MARIADB = `CREATE TABLE holdfast_meta (name VARBINARY(64) PRIMARY KEY, value VARBINARY(255) NOT NULL);
  CREATE TABLE holdfast_keys (\`key\` VARBINARY(1024) PRIMARY KEY, revision BIGINT NOT NULL, seq BIGINT NOT NULL,
    holder VARBINARY(255), expires_at BIGINT NOT NULL, state LONGBLOB, forget_at BIGINT NOT NULL);
  CREATE TABLE holdfast_records (\`key\` VARBINARY(1024) PRIMARY KEY, revision BIGINT NOT NULL, version BIGINT NOT NULL,
    value LONGBLOB, expires_at BIGINT, forget_at BIGINT); ${FIRST}`

const FAR_MS = 9_000_000_000_000
const LAST_SEQ = 8_000_000_000_000_000

describe.each([
  [
    'PostgreSQL',
    postgres.url,
    POSTGRES,
    'key',
    async (text: string) => (await pool.query(text)).rows,
    migratePostgres,
  ],
  [
    'MariaDB',
    mariadb.url,
    MARIADB,
    '`key`',
    async (text: string) => (await mysqlPool.query(text))[0],
    migrateMysql,
  ],
])('%s: tables of format 1', (_, url, schema, key, run, migrate) => {
  it('are refused, upgraded when unused, and refused to older versions from then on', async () => {
    await run(schema)
    const state = (expiresAtMs: number) =>
      JSON.stringify([1, [[null, 'x', null, [['id', expiresAtMs, 1, 'old', null, null, 0, null]]]], [], 0])
    await run(`INSERT INTO holdfast_keys (${key}, revision, seq, holder, expires_at, state, forget_at) VALUES
      ('used', 1, ${LAST_SEQ}, NULL, 0, '${state(FAR_MS)}', ${FAR_MS})`)
    await expect(connect(url)).rejects.toThrow(/format 1.*holdfast migrate/)
    await expect(migrate(url)).rejects.toThrow(/"used" of format 1 is still in use/)
    await run(`UPDATE holdfast_keys SET state = '${state(5)}'`)
    expect(await migrate(url)).toBe(true)
    expect(await migrate(url)).toBe(false)
    expect(JSON.stringify(await run(`SELECT value FROM holdfast_meta`))).toMatch(/2|"data":\[50\]/)
    const locks = await connect(url)
    try {
      const token = await locks.using('used', (lease) => lease.token)
      expect(token).toBe(BigInt(LAST_SEQ + 1) * 256n)
    } finally {
      await locks.close()
    }
  })
})

import { createLocks, type Locks } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
import postgresJs from 'postgres'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

/** Shorter than every wait of ours for a locked row. */
const TIMEOUT_MS = 200

const server = await startPostgres()
const others = new pg.Pool({ connectionString: server.url })
await others.query(
  `CREATE ROLE hurried LOGIN SUPERUSER; ALTER ROLE hurried SET statement_timeout = ${TIMEOUT_MS}`,
)
afterAll(async () => {
  await others.end()
  await server.stop()
})
const hurriedUrl = server.url.replace('postgres@', 'hurried@')

interface Hurried {
  readonly locks: Locks
  /** A connection with a transaction that has begun. */
  begin(): Promise<{ handle: object; run(text: string): Promise<unknown> }>
}

function overPg(options: pg.PoolConfig): Hurried {
  const pool = new pg.Pool(options)
  const locks = createLocks({ store: postgres(pool) })
  onTestFinished(async () => {
    await locks.close()
    await pool.end()
  })
  return {
    locks,
    begin: async () => {
      const client = await pool.connect()
      onTestFinished(() => client.release())
      await client.query('BEGIN')
      return { handle: client, run: (text) => client.query(text) }
    },
  }
}

function overPostgresJs(): Hurried {
  const sql = postgresJs(hurriedUrl, { onnotice: () => {} })
  const locks = createLocks({ store: postgres(sql) })
  onTestFinished(async () => {
    await locks.close()
    await sql.end({ timeout: 1 })
  })
  return {
    locks,
    begin: async () => {
      const reserved = await sql.reserve()
      onTestFinished(() => reserved.release())
      await reserved.unsafe('BEGIN')
      return { handle: reserved, run: (text) => reserved.unsafe(text) }
    },
  }
}

/** A key that somebody's transaction has; resolves to the way to commit it. */
async function taken(key: string): Promise<() => Promise<unknown>> {
  const locks = createLocks({ store: postgres(others) })
  onTestFinished(() => locks.close())
  const client = await others.connect()
  onTestFinished(() => client.release())
  await client.query('BEGIN')
  await locks.within(client, key, () => {})
  return () => client.query('COMMIT')
}

describe.each([
  ['pg, by its role', () => overPg({ connectionString: hurriedUrl })],
  ['pg, by its pool', () => overPg({ connectionString: server.url, statement_timeout: TIMEOUT_MS })],
  ['postgres, by its role', overPostgresJs],
])('a statement_timeout that is shorter than our waits: %s', (name, open) => {
  it('a key that a transaction has taken is held, which is no outage', async () => {
    const { locks } = open()
    const commit = await taken(`held ${name}`)
    expect(await locks.tryAcquire(`held ${name}`)).toBeNull()
    const late = locks.acquire(`held ${name}`, { wait: 3 * TIMEOUT_MS })
    await expect(late).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await commit()
    await locks.using(`held ${name}`, { wait: 2000 }, () => {})
  })

  it('within waits for longer than a statement may take, and its transaction stays usable', async () => {
    const { locks, begin } = open()
    const commit = await taken(`within ${name}`)
    const tx = await begin()
    const late = locks.within(tx.handle, `within ${name}`, { wait: 4 * TIMEOUT_MS }, () => {})
    await expect(late).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await tx.run('SELECT 1')
    const waiting = locks.within(tx.handle, `within ${name}`, { wait: 10_000 }, () => 'had')
    await commit()
    expect(await waiting).toBe('had')
    await tx.run('COMMIT')
  })
})

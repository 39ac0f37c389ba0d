import { connect, createLocks } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { POOLED, startPgbouncer } from '../../scripts/servers/pgbouncer.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { conform } from './conform.ts'

const server = await startPostgres()
const pooler = await startPgbouncer(server.port)
/** Only for its options: every store opens its own connection like it, past the pooler. */
const direct = new pg.Pool({ connectionString: server.url })
afterAll(async () => {
  await direct.end()
  await pooler.stop()
  await server.stop()
})

conform({
  name: 'postgres behind pgbouncer in transaction mode, listening past it',
  open: () => {
    const pool = new pg.Pool({ connectionString: pooler.url, max: 2 })
    const store = postgres(pool, { listen: direct })
    const close = store.close.bind(store)
    store.close = async () => {
      await close()
      await pool.end()
    }
    return store
  },
})

/** With tables, and with more connections than the pooler has. */
async function opened(callTimeout = 5000) {
  const pool = new pg.Pool({ connectionString: pooler.url, max: 2 * POOLED })
  const locks = createLocks({ store: postgres(pool, { listen: false }), callTimeout })
  await locks.using('first', () => {})
  onTestFinished(async () => {
    await locks.close()
    await pool.end()
  })
  return { pool, locks }
}

describe('behind pgbouncer in transaction mode', () => {
  it.each([
    ['that is not told so, and hears nothing', ''],
    ['that is told not to listen', '?listen=false'],
  ])('a store %s still serves its waiters', async (_, query) => {
    const [holder, waiter] = [await connect(pooler.url + query), await connect(pooler.url + query)]
    try {
      const lease = await holder.acquire('polled')
      const waiting = waiter.acquire('polled', { wait: '10s' })
      await expect.poll(async () => (await holder.read('polled')).queue.length).toBe(1)
      await lease.release()
      expect((await waiting).token).toBeGreaterThan(lease.token as bigint)
    } finally {
      await Promise.all([holder.close(), waiter.close()])
    }
  })

  it('a lock within a transaction keeps others out until the commit, savepoints or not', async () => {
    const { pool, locks } = await opened()
    const tx = await pool.connect()
    await tx.query('BEGIN; SAVEPOINT part')
    const token = await locks.within(tx, 'joint', (hold) => hold.token)
    await tx.query('RELEASE SAVEPOINT part')
    expect(await locks.tryAcquire('joint')).toBeNull()
    await tx.query('SAVEPOINT other; ROLLBACK TO SAVEPOINT other')
    expect(await locks.tryAcquire('joint')).toBeNull()
    await tx.query('COMMIT')
    tx.release()
    expect(await locks.using('joint', { wait: 2000 }, (lease) => lease.token)).toBeGreaterThan(token)
  })

  it('locks within transactions lose no update', async () => {
    const { pool, locks } = await opened()
    await direct.query('CREATE TABLE counter AS SELECT 0 AS n')
    const add = async () => {
      const tx = await pool.connect()
      await tx.query('BEGIN')
      await locks.within(tx, 'counter', { wait: 10_000 }, async () => {
        const { rows } = await tx.query('SELECT n FROM counter')
        await tx.query('UPDATE counter SET n = $1', [rows[0].n + 1])
      })
      await tx.query('COMMIT')
      tx.release()
    }
    const workers = Array.from({ length: 6 }, async () => {
      for (let round = 0; round < 4; round++) await add()
    })
    await Promise.all(workers)
    expect((await direct.query('SELECT n FROM counter')).rows).toEqual([{ n: 24 }])
  })

  it('a lock within a transaction fails in time where transactions have all connections of the pooler', async () => {
    const { pool, locks } = await opened(500)
    const all = await Promise.all(
      Array.from({ length: POOLED }, async () => {
        const tx = await pool.connect()
        await tx.query('BEGIN')
        return tx
      }),
    )
    const [first, second] = all as [pg.PoolClient, pg.PoolClient]
    await expect(locks.within(first, 'crowded', () => {})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('no answer within 500 ms'),
    })
    await second.query('COMMIT')
    await locks.within(first, 'crowded', () => {})
    for (const tx of all) {
      await tx.query('ROLLBACK')
      tx.release()
    }
  })

  it('reports whether waiters get push', async () => {
    const pool = new pg.Pool({ connectionString: pooler.url })
    for (const [listen, wakeUp] of [
      [false, 'poll'],
      [direct, 'push'],
    ] as const) {
      const locks = createLocks({ store: postgres(pool, { listen }) })
      expect(locks.traits.wakeUp).toBe(wakeUp)
      await locks.close()
    }
    await pool.end()
  })
})

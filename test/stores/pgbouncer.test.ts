import { connect, createLocks } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startPgbouncer } from '../../scripts/servers/pgbouncer.ts'
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

describe('behind pgbouncer in transaction mode', () => {
  it.each([
    ['that is not told so, and hears nothing', ''],
    ['that is told not to listen', '?listen=false'],
  ])('a store %s serves its waiters all the same', async (_, query) => {
    const [holder, waiter] = [await connect(pooler.url + query), await connect(pooler.url + query)]
    try {
      const lease = await holder.acquire('polled')
      const waiting = waiter.acquire('polled', { wait: '10s' })
      await expect.poll(async () => (await holder.read('polled')).line.length).toBe(1)
      await lease.release()
      expect((await waiting).token).toBeGreaterThan(lease.token as bigint)
    } finally {
      await Promise.all([holder.close(), waiter.close()])
    }
  })

  it('says whether waiters are told', async () => {
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

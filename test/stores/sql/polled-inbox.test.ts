import { createLocks, type Locks, type Store } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPgbouncer } from '../../../scripts/servers/pgbouncer.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { CLIENTS, openStore } from '../mysql/clients.ts'

const [mariadb, server] = await Promise.all([startMariadb(), startPostgres()])
const pooler = await startPgbouncer(server.port)
const pools: pg.Pool[] = []
const opened: Locks[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close()))
  await Promise.all(pools.splice(0).map((pool) => pool.end()))
})
afterAll(async () => {
  await pooler.stop()
  await Promise.all([mariadb.stop(), server.stop()])
})

/** A pool of its own, as a process has: over one pool nobody would have to be called. */
function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 })
  pools.push(pool)
  return pool
}

describe.each<[string, () => Store]>([
  ['MariaDB', () => openStore(CLIENTS.mysql2 as (typeof CLIENTS)[string], mariadb.url)],
  ['PostgreSQL with listen: false', () => postgres(poolOf(server.url), { listen: false })],
  ['PostgreSQL behind a pooler through which nothing is heard', () => postgres(poolOf(pooler.url))],
])('%s: a holder without push', (_, storeOf) => {
  const open = (): Locks => {
    const locks = createLocks({ store: storeOf(), ttl: 60_000 })
    opened.push(locks)
    return locks
  }

  it.each([
    ['asked to let go', { ask: true }, 'revoked'],
    ['evicted', {}, 'lost'],
  ] as const)(
    'is notified that it is %s soon, long before its next renewal',
    async (_what, options, kind) => {
      const [holder, operator] = [open(), open()]
      const lease = await holder.acquire(`key ${kind}`)
      const heard = new Promise<number>((resolve) => {
        const told = () => resolve(performance.now())
        if (kind === 'revoked') lease.on('revoked', told)
        else lease.signal.addEventListener('abort', told)
      })
      const askedAtMs = performance.now()
      expect(await operator.evict(`key ${kind}`, options)).toHaveLength(1)
      expect((await heard) - askedAtMs).toBeLessThan(2500)
      expect(lease.held).toBe(kind === 'revoked')
    },
  )
})

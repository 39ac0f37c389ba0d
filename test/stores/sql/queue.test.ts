import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Locks } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { Store } from '../../../src/core/store.ts'
import type { Blocked, Claim } from '../../../src/model/index.ts'
import { claimOf } from '../sqlite/claims.ts'

const WAITERS = 14

const DATABASES = [
  [
    'PostgreSQL',
    startPostgres,
    (url: string) => ownPool(new pg.Pool({ connectionString: url, max: 2 }), postgres),
  ],
  [
    'MariaDB',
    startMariadb,
    (url: string) => ownPool(mysql2.createPool({ uri: url, connectionLimit: 2 }), mysql),
  ],
] as const

it('a long queue without push is served in its order', async () => {
  const server = await startMariadb()
  const all: Locks[] = []
  const open = async (): Promise<Locks> => {
    const locks = await connect(server.url, { ttl: '1m', wait: '1m' })
    all.push(locks)
    return locks
  }
  try {
    const first = await open()
    const lease = await first.acquire('key')
    const served: number[] = []
    const waits: Promise<unknown>[] = []
    for (let place = 0; place < WAITERS; place++) {
      const locks = await open()
      waits.push(locks.using('key', () => served.push(place)))
      await expect.poll(async () => (await first.read('key')).queue.length, { interval: 5 }).toBe(place + 1)
    }
    await lease.release()
    await Promise.all(waits)
    // A waiter that misses its offer joins the end of the queue again.
    expect(served).toEqual(Array.from({ length: WAITERS }, (_, place) => place))
  } finally {
    await Promise.all(all.map((locks) => locks.close()))
    await server.stop()
  }
}, 60_000)

it.each(DATABASES)(
  '%s: a blocked group counts positions after the passing of time',
  async (_, start, open) => {
    const server = await start()
    const { store, end } = open(server.url)
    try {
      const closing = claimOf('key', { id: 'closing', ttlMs: 300, lockDelayMs: 300 })
      const [first, second] = ['first', 'second'].map((id) => claimOf('key', { id, ttlMs: 60_000 })) as [
        Claim,
        Claim,
      ]
      await store.attempt([closing])
      await store.attempt([first, second])
      await sleep(700)
      const group = [second, claimOf('other', { id: 'other' })].map((claim) => ({ ...claim, group: 'g' }))
      const [blocked] = await store.attempt(group)
      expect((blocked as Blocked).position).toBe(1)
    } finally {
      await store.close()
      await end()
      await server.stop()
    }
  },
)

it.each(DATABASES)('%s: the 400 claims of a process leave a queue by one call', async (_, start, open) => {
  const server = await start()
  const { store, end } = open(server.url)
  try {
    const claims = Array.from({ length: 400 }, () => claimOf('key', { ttlMs: 60_000 }))
    const last = claimOf('key', { ttlMs: 60_000 })
    await store.attempt([...claims, last])
    const answers = await store.release(claims)
    expect([...new Set(answers.map(({ kind }) => kind))]).toEqual(['released'])
    expect((await store.attempt([last]))[0]?.kind).toBe('granted')
  } finally {
    await store.close()
    await end()
    await server.stop()
  }
})

function ownPool<P extends { end(): Promise<unknown> }>(pool: P, storeOf: (pool: P) => Store) {
  return { store: storeOf(pool), end: () => pool.end() }
}

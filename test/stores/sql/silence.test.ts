import { connect, createLocks, type Locks, type Store } from 'holdfast'
import { postgres as storeOver } from 'holdfast/postgres'
import pg from 'pg'
import postgresJs from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import * as mysql from '../mysql/clients.ts'
import * as postgres from '../postgres/clients.ts'

const CALL_MS = 800
/** How much later than the deadline the store may serve again. */
const SLACK_MS = 1000

const servers = await Promise.all([startPostgres(), startMariadb()])
const [postgresServer, mariadbServer] = servers
afterAll(() => Promise.all(servers.map((server) => server.stop())))

type Open = (url: string, advisory: boolean) => Promise<Store>

const postgresOf =
  (name: string): Open =>
  async (url, advisory) => {
    const bring = postgres.CLIENTS[name] as (typeof postgres.CLIENTS)[string]
    return (await postgres.openStore(bring, url, advisory ? { advisory } : {})).store
  }
const mysqlOf =
  (name: string): Open =>
  async (url, advisory) =>
    mysql.openStore(mysql.CLIENTS[name] as (typeof mysql.CLIENTS)[string], url, { advisory })

const BROUGHT: readonly [string, typeof postgresServer | typeof mariadbServer, Open][] = [
  ['pg', postgresServer, postgresOf('pg')],
  ['postgres', postgresServer, postgresOf('postgres')],
  ['mysql2', mariadbServer, mysqlOf('mysql2')],
  ['mariadb', mariadbServer, mysqlOf('mariadb')],
]

/** The answer of the first try that gets one, and how long that took. */
async function servedAfter(locks: Locks, key: string): Promise<number> {
  const sinceMs = performance.now()
  for (;;) {
    const lease = await locks.acquire(key, { wait: 0 }).catch(() => null)
    await lease?.release().catch(() => {})
    if (lease !== null) return performance.now() - sinceMs
  }
}

describe.each(BROUGHT)('connections of %s that fall silent', (_, server, open) => {
  let proxy: TcpProxy
  const opened: Locks[] = []
  beforeAll(async () => {
    proxy = await startProxy(server.port)
    return () => proxy.close()
  })
  afterEach(async () => {
    proxy.heal()
    await Promise.all(opened.splice(0).map((locks) => locks.close()))
  })
  const url = () => server.url.replace(String(server.port), String(proxy.port))
  const keep = (locks: Locks): Locks => {
    opened.push(locks)
    return locks
  }
  const locksOf = async (advisory = false) =>
    keep(createLocks({ store: await open(url(), advisory), callTimeout: CALL_MS, ttl: 1500 }))

  it('are replaced, all at once, when the first of them has not answered in time', async () => {
    const locks = await locksOf()
    await Promise.all(['a', 'b', 'c'].map((key) => locks.using(key, () => {})))
    proxy.silence()
    expect(await servedAfter(locks, 'again')).toBeLessThan(CALL_MS + SLACK_MS)
  })

  it('do not keep their keys: one claim goes unanswered, and its key stays usable', async () => {
    const locks = await locksOf()
    await locks.using('warm', () => {})
    const silent = proxy.silenceAfter('the-silent-key')
    const refused = locks.acquire('the-silent-key', { wait: 0, ttl: 1000 }).then(
      () => 'granted',
      (error) => error.code,
    )
    await silent
    await locks.using('another key', () => {})
    expect(await refused).toBe('STORE_UNAVAILABLE')
    // The server made the grant of which nobody heard; it is released by its id, or ends with its ttl.
    await locks.using('the-silent-key', { wait: 3000 }, () => {})
  })

  it('are noticed while a session lock is on them: its lease is lost in time, and the server frees it', async () => {
    const [locks, other] = [
      await locksOf(true),
      keep(createLocks({ store: await open(server.url, true), callTimeout: CALL_MS })),
    ]
    const lease = await locks.acquire('session')
    const lost = new Promise<number>((resolve) =>
      lease.signal.addEventListener('abort', () => resolve(performance.now())),
    )
    const silentAtMs = performance.now()
    proxy.silence()
    const taken = other.acquire('session', { wait: 8000 }).then(() => performance.now())
    expect((await lost) - silentAtMs).toBeLessThan(1500 + SLACK_MS)
    expect(await taken).toBeGreaterThan(await lost)
    expect((await taken) - silentAtMs).toBeLessThan(1500 + SLACK_MS)
    expect(await servedAfter(locks, 'again')).toBeLessThan(SLACK_MS)
  })
})

describe.each([
  ['PostgreSQL', postgresServer],
  ['MariaDB', mariadbServer],
])('a store of %s opened by URL', (_, server) => {
  it('is given up in the time of a call when the server accepts the connection and never answers', async () => {
    const proxy = await startProxy(server.port)
    proxy.silence(true)
    const sinceMs = performance.now()
    try {
      await expect(
        connect(server.url.replace(String(server.port), String(proxy.port)), { callTimeout: CALL_MS }),
      ).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('127.0.0.1') })
      expect(performance.now() - sinceMs).toBeLessThan(CALL_MS + SLACK_MS)
    } finally {
      await proxy.close()
    }
  })

  it('serves again soon after a partition that swallowed connections, old and new', async () => {
    const proxy = await startProxy(server.port)
    const locks = await connect(server.url.replace(String(server.port), String(proxy.port)), {
      callTimeout: CALL_MS,
    })
    try {
      await locks.using('warm', () => {})
      proxy.silence(true)
      const swallowed = ['a', 'b', 'c'].map((key) => locks.using(key, { wait: 0 }, () => {}))
      expect((await Promise.allSettled(swallowed)).map(({ status }) => status)).toEqual([
        ...['rejected', 'rejected', 'rejected'],
      ])
      const late = locks.using('d', { wait: 0 }, () => {}).catch(() => {})
      proxy.silence()
      expect(await servedAfter(locks, 'again')).toBeLessThan(CALL_MS + SLACK_MS)
      await late
    } finally {
      await locks.close()
      await proxy.close()
    }
  })
})

it('PostgreSQL: a silent listening connection is noticed, and waiters are notified of their grants again', async () => {
  const proxy = await startProxy(postgresServer.port)
  const url = postgresServer.url.replace(String(postgresServer.port), String(proxy.port))
  const [holder, waiter] = [await connect(postgresServer.url), await connect(url, { callTimeout: CALL_MS })]
  try {
    await waiter.using('warm', () => {})
    proxy.silence()
    // Nobody uses the pool: only the heartbeat of the connection that listens can tell.
    const before = proxy.passed.replies
    await expect.poll(() => proxy.passed.replies, { timeout: 3000 + CALL_MS + 2000 }).toBeGreaterThan(before)
    const lease = await holder.acquire('told')
    const waiting = waiter.acquire('told', { wait: 10_000 }).then(() => performance.now())
    await expect.poll(async () => (await holder.read('told')).queue.length, { timeout: 5000 }).toBe(1)
    const releasedAtMs = performance.now()
    await lease.release()
    expect((await waiting) - releasedAtMs).toBeLessThan(400)
  } finally {
    await Promise.all([holder.close(), waiter.close()])
    await proxy.close()
  }
})

describe('postgres.js: a connection that falls silent as soon as the server is ready', () => {
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await startProxy(postgresServer.port)
    return () => proxy.close()
  })
  const clientOf = () =>
    postgresJs(postgresServer.url.replace(String(postgresServer.port), String(proxy.port)), { max: 1 })

  it('frees its place in the pool', async () => {
    const sql = clientOf()
    const locks = createLocks({ store: storeOver(sql, { listen: false }), callTimeout: CALL_MS })
    try {
      const silent = proxy.silenceAfter('SELECT 1')
      await expect(locks.using('first', { wait: 0 }, () => {})).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })
      await silent
      await locks.using('again', () => {})
    } finally {
      await locks.close()
      await sql.end({ timeout: 0 })
    }
  })

  it('is given up by the listener, which then listens on another', async () => {
    const sql = clientOf()
    const locks = createLocks({ store: storeOver(sql), callTimeout: CALL_MS })
    const operator = new pg.Pool({ connectionString: postgresServer.url, max: 1 })
    const listening = async (): Promise<readonly number[]> => {
      const sessions = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`
      return (await operator.query(sessions)).rows.map(({ pid }) => pid)
    }
    try {
      await locks.using('warm', () => {})
      await expect.poll(listening, { timeout: 5000 }).toHaveLength(1)
      const silent = proxy.silenceAfter('SELECT 1')
      await operator.query('SELECT pg_terminate_backend($1::int)', [(await listening())[0]])
      await silent
      await expect.poll(listening, { timeout: 10_000 }).toHaveLength(1)
    } finally {
      await locks.close()
      await operator.end()
      await sql.end({ timeout: 0 })
    }
  }, 20_000)
})

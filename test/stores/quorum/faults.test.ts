import { connect, createLocks, type Locks, StoreError, UnsupportedError } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { CLIENTS } from '../redis/clients.ts'
import { Overlaps, sleep, Workers } from '../redis/load.ts'
import { openQuorum } from './open.ts'

const TTL_MS = 2000
/** Half of the ttl: far more than a silent node is waited for, and far less than anything that waits for an expiry. */
const BOUND_MS = TTL_MS / 2
const RECOVERY_MS = TTL_MS + 1000

let servers: RedisServer[]
let frozen: RedisServer[]
let opened: Locks[]
const rejections: unknown[] = []
const onRejection = (reason: unknown) => rejections.push(reason)

beforeEach(async () => {
  process.on('unhandledRejection', onRejection)
  rejections.length = 0
  opened = []
  frozen = []
  servers = await Promise.all(Array.from({ length: 5 }, () => startRedis()))
})

afterEach(async () => {
  thaw()
  await Promise.all(opened.map((locks) => locks.close()))
  await Promise.all(servers.map((server) => server.stop()))
  process.off('unhandledRejection', onRejection)
  expect(rejections).toEqual([])
})

function freeze(count: number): void {
  for (const server of servers.slice(0, count)) {
    process.kill(server.pid, 'SIGSTOP')
    frozen.push(server)
  }
}

function thaw(): void {
  for (const server of frozen.splice(0)) process.kill(server.pid, 'SIGCONT')
}

async function killed(count: number): Promise<void> {
  await Promise.all(servers.slice(0, count).map((server) => server.kill()))
}

async function open(client = 'ioredis 5'): Promise<Locks> {
  const bring = CLIENTS[client] as (typeof CLIENTS)[string]
  const { store } = await openQuorum(
    bring,
    servers.map(({ port }) => port),
  )
  const locks = createLocks({ store, ttl: TTL_MS, wait: 10_000 })
  opened.push(locks)
  return locks
}

/** Takes and gives back a key of its own, `rounds` times; the longest that one of them took. */
async function slowest(locks: Locks, rounds: number): Promise<number> {
  let longestMs = 0
  for (let round = 0; round < rounds; round++) {
    const startedAtMs = performance.now()
    await locks.using(`round ${round}`, async () => {})
    longestMs = Math.max(longestMs, performance.now() - startedAtMs)
  }
  return longestMs
}

for (const client of ['ioredis 5', 'redis 6']) {
  describe(`five servers with ${client}`, () => {
    it('two are killed under load: the others go on', async () => {
      const workers = new Workers(new Overlaps())
      for (const locks of [await open(client), await open(client)])
        for (const key of ['a', 'a', 'b']) workers.start(locks, key)
      await sleep(200)
      await killed(2)
      await workers.recover(RECOVERY_MS)
      await sleep(200)
      expect(await slowest(opened[0] as Locks, 50)).toBeLessThan(BOUND_MS)
      await workers.end()
    })

    it('two stand still: nobody waits for them longer than for a node, and they come back', async () => {
      const workers = new Workers(new Overlaps())
      for (const locks of [await open(client), await open(client)])
        for (const key of ['a', 'a', 'b']) workers.start(locks, key)
      await sleep(200)
      freeze(2)
      expect(await slowest(opened[0] as Locks, 50)).toBeLessThan(BOUND_MS)
      await workers.recover(RECOVERY_MS)
      thaw()
      await sleep(300)
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })

    it('three are gone: refused in bounded time by an error that names them, and well again afterwards', async () => {
      const locks = await open(client)
      await locks.using('before', async () => {})
      await killed(3)
      const names = servers.slice(0, 3).map(({ port }) => `127.0.0.1:${port}`)
      for (let round = 0; round < 3; round++) {
        const startedAtMs = performance.now()
        const error = await locks.acquire('k', { wait: 0 }).catch((reason) => reason)
        expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS)
        expect(error).toBeInstanceOf(StoreError)
        for (const name of names) expect(String(error.message)).toContain(name)
        expect(String(error.message)).toMatch(/2 of 5 nodes answered, 3 are needed/)
      }
      await Promise.all(servers.slice(0, 3).map((server) => server.start()))
      await expect
        .poll(() => locks.using('k', async () => 'held').catch(String), { timeout: 5000 })
        .toBe('held')
    })

    it('three stand still: refused in bounded time, nothing is left of it, and well again afterwards', async () => {
      const locks = await open(client)
      await locks.using('before', async () => {})
      freeze(3)
      const startedAtMs = performance.now()
      await expect(locks.acquire('k', { wait: 0 })).rejects.toThrow(/2 of 5 nodes answered/)
      expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS)
      thaw()
      const other = await open(client)
      await expect
        .poll(() => other.using('k', { wait: 0 }, async () => 'held').catch(String), { timeout: TTL_MS / 2 })
        .toBe('held')
    })

    it('one comes back empty: the holder keeps the key, and its renewal gives the node the claim again', async () => {
      const [holder, other] = [await open(client), await open(client)]
      const lease = await holder.acquire('k')
      const node = servers[0] as RedisServer
      await node.kill()
      await node.start()
      const operator = new Redis(node.port)
      try {
        expect(await operator.dbsize()).toBe(0)
        await expect(other.tryAcquire('k')).resolves.toBeNull()
        await expect.poll(() => operator.dbsize(), { timeout: 2 * TTL_MS }).toBeGreaterThan(0)
        expect(lease.held).toBe(true)
        const { token } = lease
        await lease.release()
        const next = await other.acquire('k')
        expect(next.token).toBeGreaterThan(token as bigint)
        await next.release()
      } finally {
        operator.disconnect()
      }
    })
  })
}

describe('refusals', () => {
  it('two addresses of one server', async () => {
    const [one, two] = servers as [RedisServer, RedisServer]
    await expect(
      connect(`redlock://127.0.0.1:${one.port},localhost:${one.port},127.0.0.1:${two.port}`),
    ).rejects.toThrow(/are the same one/)
  })

  it('too few servers to begin with, each named with its cause', async () => {
    await killed(3)
    const url = `redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const error = await connect(url).catch((reason) => reason)
    expect(error).toBeInstanceOf(StoreError)
    for (const { port } of servers.slice(0, 3)) expect(error.message).toContain(`127.0.0.1:${port}`)
  })

  it('an even number, or fewer than three, is warned of', async () => {
    const warnings: string[] = []
    const listen = (warning: Error) => warnings.push(warning.message)
    process.on('warning', listen)
    const clients = servers.map(({ port }) => new Redis(port))
    for (const count of [2, 3, 4, 5]) await quorum(clients.slice(0, count)).close()
    for (const client of clients) client.disconnect()
    await sleep(0)
    process.off('warning', listen)
    expect(warnings.filter((warning) => warning.startsWith('a quorum'))).toEqual([
      'a quorum of 2 survives no failure: take at least 3 servers',
      'a quorum of 4 survives 1 failure, no more than one of 3 would',
    ])
  })

  it('recipes that need records, with the stores that have them', async () => {
    const locks = await connect(`redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
    opened.push(locks)
    const error = await locks.once('id', async () => 1).catch((reason) => reason)
    expect(error).toBeInstanceOf(UnsupportedError)
    for (const store of ['memory', 'SQLite', 'Redis', 'etcd', 'ZooKeeper'])
      expect(error.message).toContain(store)
  })
})

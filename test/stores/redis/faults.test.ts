import { createLocks, type Locks, type Store } from 'holdfast'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { CLIENTS, cut, openStore } from './clients.ts'
import { Overlaps, sleep, Workers } from './load.ts'

const TTL_MS = 1000
/** A lease that was lost with its connection ends with its ttl, and a second later everything is at work again. */
const RECOVERY_MS = TTL_MS + 1000

let server: RedisServer
let operator: Redis
let opened: Locks[]
const rejections: unknown[] = []
const onRejection = (reason: unknown) => rejections.push(reason)

beforeEach(async () => {
  process.on('unhandledRejection', onRejection)
  rejections.length = 0
  opened = []
  server = await startRedis({ persistent: true })
  operator = new Redis(server.port)
  operator.on('error', () => {})
})

afterEach(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  operator.disconnect()
  await server.stop()
  process.off('unhandledRejection', onRejection)
  expect(rejections).toEqual([])
})

for (const client of ['ioredis 5', 'ioredis 6', 'redis 5', 'redis 6']) {
  describe(`with ${client}`, () => {
    it('goes on when every connection is cut under load', async () => {
      const workers = await startWorkers(client)
      for (let round = 0; round < 5; round++) {
        await sleep(200)
        await operator.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
        await operator.call('CLIENT', ['KILL', 'TYPE', 'pubsub'])
      }
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })

    it('goes on when the scripts are flushed under load', async () => {
      const workers = await startWorkers(client)
      for (let round = 0; round < 20; round++) {
        await sleep(20)
        await operator.script('FLUSH')
      }
      await workers.recover(RECOVERY_MS)
      const { errors } = await workers.end()
      expect(errors, 'nobody may notice a flushed script').toEqual([])
    })

    it('gives nobody a lease twice when the server stands still for longer than a ttl', async () => {
      const workers = await startWorkers(client)
      await sleep(100)
      await operator.call('DEBUG', ['SLEEP', String((TTL_MS * 1.5) / 1000)])
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })

    it('goes on when the server is killed and started again', async () => {
      const workers = await startWorkers(client)
      await sleep(300)
      await server.kill()
      await sleep(300)
      await server.start()
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })

    it('serves a waiter whose inbox was cut between its position in the queue and its grant', async () => {
      const { locks: holder } = await open(client)
      const { locks: waiter, name } = await open(client)
      const lease = await holder.acquire('key')
      const acquired = waiter.acquire('key', { wait: 10_000 })
      await untilWaiting(holder, 1)
      await cut(operator, name, 'pubsub')
      await lease.release()
      const startedAtMs = performance.now()
      const next = await acquired
      expect(next.held).toBe(true)
      expect(performance.now() - startedAtMs).toBeLessThan(RECOVERY_MS)
    })
  })
}

it('keeps a lease, its token and its queue through a restart of the server', async () => {
  const { locks, store } = await open('ioredis 5')
  const { locks: other } = await open('redis 6')
  const lease = await locks.acquire('key', { ttl: 5000 })
  const acquired = other.acquire('key', { wait: 10_000, ttl: 5000 })
  await untilWaiting(locks, 1)
  await server.kill()
  await server.start()
  await expect.poll(() => store.admin.read('key'), { timeout: 5000 }).toMatchObject({ token: lease.token })
  expect(lease.held).toBe(true)
  await lease.release()
  const next = await acquired
  expect(next.token).toBeGreaterThan(lease.token as bigint)
})

it('keeps nothing for later when the client is not connected', async () => {
  for (const client of ['ioredis 5', 'ioredis 6', 'redis 5', 'redis 6']) {
    const { locks } = await open(client)
    await locks.using('warm', () => {})
    await server.kill()
    // Commands on the dying connection have an unknown outcome; later ones must not be queued.
    await expect.poll(() => locks.tryAcquire('dying').catch((error) => error.code)).toBe('STORE_UNAVAILABLE')
    await expect(locks.tryAcquire('ghost')).rejects.toThrow(/not connected/)
    await server.start()
    const again = () => locks.using('warm', { wait: 0 }, () => 'back').catch(() => null)
    await expect.poll(again, { timeout: 5000 }).toBe('back')
    expect((await locks.read('ghost')).holders, client).toEqual([])
  }
})

async function open(client: string): Promise<{ locks: Locks; store: Store; name: string }> {
  const bring = CLIENTS[client] as (typeof CLIENTS)[string]
  const { store, name } = await openStore(bring, server.port)
  const locks = createLocks({ store, ttl: TTL_MS, wait: 20_000, callTimeout: 500 })
  opened.push(locks)
  return { locks, store, name }
}

/** Three processes with two workers each on one key, and one worker each on a key of its own. */
async function startWorkers(client: string): Promise<Workers> {
  const workers = new Workers(new Overlaps())
  for (let process = 0; process < 3; process++) {
    const { locks } = await open(client)
    workers.start(locks, 'shared by all')
    workers.start(locks, 'shared by all')
    workers.start(locks, `alone ${process}`)
  }
  await workers.recover(RECOVERY_MS)
  return workers
}

async function untilWaiting(locks: Locks, count: number): Promise<void> {
  await expect.poll(async () => (await locks.read('key')).queue.length, { timeout: 5000 }).toBe(count)
}

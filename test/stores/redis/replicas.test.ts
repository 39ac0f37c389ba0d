import { connect, createLocks, type Locks, type Store } from 'holdfast'
import { memory } from 'holdfast/memory'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { ReplicatedStore, UnmetError } from '../../../src/stores/redis/replicas.ts'
import { claimOf } from '../sqlite/claims.ts'
import { CLIENTS, openStore } from './clients.ts'
import { sleep } from './load.ts'
import { startReplica } from './replica.ts'

const REPLICAS = { wait: 1, timeout: 100 }

let server: RedisServer
let replica: RedisServer
let operator: Redis
let copy: Redis
const opened: Locks[] = []

beforeAll(async () => {
  server = await startRedis()
  replica = await startReplica(server.port)
  operator = new Redis(server.port)
  copy = new Redis(replica.port)
})

afterEach(async () => {
  process.kill(replica.pid, 'SIGCONT')
  await Promise.all(opened.splice(0).map((locks) => locks.close()))
})

afterAll(async () => {
  operator?.disconnect()
  copy?.disconnect()
  await replica?.stop()
  await server?.stop()
})

for (const client of ['ioredis 5', 'ioredis 6', 'redis 5', 'redis 6', 'glide']) {
  describe(`with ${client}`, () => {
    const open = async (format: 'holdfast' | 'plain' = 'holdfast'): Promise<Locks> => {
      const bring = CLIENTS[client] as (typeof CLIENTS)[string]
      const { store } = await openStore(bring, server.port, { replicas: REPLICAS, format, check: false })
      const locks = createLocks({ store, ttl: 10_000 })
      opened.push(locks)
      return locks
    }

    it('hands out a lease only when the replica has it', async () => {
      const locks = await open()
      for (let round = 0; round < 20; round++) {
        const lease = await locks.acquire(`${client} ${round}`)
        expect(await copy.hget(lockName(`${client} ${round}`), 'id')).toBe(lease.id)
        await lease.release()
      }
    })

    it('takes a claim back that the replica does not get, and says so', async () => {
      const locks = await open()
      await locks.using('warm', () => {})
      process.kill(replica.pid, 'SIGSTOP')
      const refused = locks.acquire('alone', { wait: 0 })
      await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(refused).rejects.toThrow(/reached 0 of 1 replicas within 100 ms.*taken back/)
      expect((await locks.read('alone')).holders).toEqual([])
      const acquired = locks.acquire('alone', { wait: 10_000 })
      await sleep(300)
      process.kill(replica.pid, 'SIGCONT')
      expect((await acquired).held).toBe(true)
    })

    it('does not forget to wait when the server has forgotten the script', async () => {
      const locks = await open()
      await locks.using('warm', () => {})
      process.kill(replica.pid, 'SIGSTOP')
      await operator.script('FLUSH')
      await expect(locks.acquire('flushed', { wait: 0 })).rejects.toThrow(/0 of 1 replicas/)
    })

    it('hands a pushed grant out only when the replica has it', async () => {
      const [a, b] = [await open(), await open()]
      const lease = await a.acquire('passed on')
      let served = false
      const acquired = b.acquire('passed on', { wait: 20_000 }).then((next) => {
        served = true
        return next
      })
      await expect.poll(async () => (await a.read('passed on')).queue.length).toBe(1)
      process.kill(replica.pid, 'SIGSTOP')
      await lease.release()
      await sleep(500)
      expect(served).toBe(false)
      process.kill(replica.pid, 'SIGCONT')
      const next = await acquired
      expect(await copy.hget(lockName('passed on'), 'id')).toBe(next.id)
    })

    it('wakes a waiter without delay', async () => {
      const [a, b] = [await open(), await open()]
      const lease = await a.acquire('quick')
      const acquired = b.acquire('quick', { ttl: 60_000 })
      await expect.poll(async () => (await a.read('quick')).queue.length).toBe(1)
      let looks = 0
      b.on('storeFailed', () => looks++)
      await lease.release()
      await acquired
      expect(looks).toBe(0)
    })

    it('lets a lease end when its renewals do not reach the replica', async () => {
      const locks = await open()
      const failures: unknown[] = []
      locks.on('renewFailed', ({ error }) => failures.push(error))
      const lease = await locks.acquire('renewed', { ttl: 1500 })
      process.kill(replica.pid, 'SIGSTOP')
      await expect.poll(() => lease.held, { timeout: 5000 }).toBe(false)
      expect(String(failures[0])).toMatch(/0 of 1 replicas|no answer/)
    })

    it('does the same for plain locks', async () => {
      const locks = await open('plain')
      const lease = await locks.acquire(`${client} plain`)
      expect(await copy.get(`${client} plain`)).toBe(lease.id)
      process.kill(replica.pid, 'SIGSTOP')
      await expect(locks.acquire('plain alone', { wait: 0 })).rejects.toThrow(/0 of 1 replicas/)
      expect((await locks.read('plain alone')).holders).toEqual([])
    })
  })
}

it('is asked for by a URL, too', async () => {
  const locks = await connect(`${server.url}/?replicas=1&replicasTimeout=150ms&check=off`)
  opened.push(locks)
  await locks.using('by url', () => {})
  process.kill(replica.pid, 'SIGSTOP')
  await expect(locks.acquire('by url', { wait: 0 })).rejects.toThrow(/0 of 1 replicas within 150 ms/)
  for (const bad of [
    'replicas=0',
    'replicas=x',
    'replicasTimeout=5s',
    'replicas=1&replicasTimeout=0',
    'check=1',
  ])
    await expect(connect(`${server.url}?${bad}`), bad).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

it('refuses what makes no sense', () => {
  expect(() => redis(operator, { replicas: { wait: 0 } })).toThrow(/replicas.wait/)
  expect(() => redis(operator, { replicas: 1 as never })).toThrow(/replicas must be/)
  expect(() => redis(operator, { replicas: { wait: 1, timeout: '0ms' } })).toThrow(/replicas.timeout/)
  expect(() => redis(operator, { check: 'no' as never })).toThrow(/check/)
})

it('takes back only the claims of a call that the replicas did not get', async () => {
  const taken: string[] = []
  const part: Partial<Store> = {
    traits: memory().traits,
    attempt: async () => [
      { kind: 'granted', token: 1n, spare: 0, contended: false },
      { kind: 'unknown', error: new UnmetError('it reached nobody') },
      { kind: 'unknown', error: new Error('another reason') },
    ],
    release: async (claims) => {
      taken.push(...claims.map(({ key }) => key))
      return []
    },
  }
  const claims = ['granted', 'unmet', 'failed'].map((key) => claimOf(key))
  const answers = await new ReplicatedStore(part as Store, 1).attempt(claims)
  expect(answers.map(({ kind }) => kind)).toEqual(['granted', 'unknown', 'unknown'])
  expect(taken).toEqual(['unmet'])
})

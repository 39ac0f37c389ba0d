import { setTimeout as sleep } from 'node:timers/promises'
import { GlideClusterClient } from '@valkey/valkey-glide'
import { connect, createLocks, InvalidArgumentError, type Locks, UnsupportedError } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { lockName } from '../../../src/stores/redis/names.ts'

const DAY_MS = 86_400_000
const KEPT_MS = 100_000_000

let server: RedisServer
let operator: Redis
let locks: Locks

beforeAll(async () => {
  server = await startRedis()
  operator = new Redis(server.port)
  locks = createLocks({ store: redis(operator) })
  await locks.using('warm', () => {})
})

afterAll(async () => {
  await locks?.close()
  operator?.disconnect()
  await server?.stop()
})

beforeEach(async () => {
  await operator.config('RESETSTAT')
})

it('acquires with one command and releases with one', async () => {
  for (let round = 0; round < 10; round++) await locks.using(`key ${round}`, () => {})
  expect(await scriptCalls()).toBe(20)
})

it('acquires and releases what comes in one tick with one command each', async () => {
  const keys = Array.from({ length: 50 }, (_, index) => `tick ${index}`)
  await Promise.all(keys.map((key) => locks.using(key, () => {})))
  expect(await scriptCalls()).toBe(2)
})

it('sends at most 50 claims with one command, each answered by itself', async () => {
  const keys = Array.from({ length: 1001 }, (_, index) => `many ${index}`)
  const leases = await Promise.all(keys.map((key) => locks.acquire(key)))
  expect(await scriptCalls()).toBe(21)
  await Promise.all(leases.map((lease) => lease.release()))
  expect(await scriptCalls()).toBe(42)
})

it('takes and renews many keys of any letters with one command', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => `鍵 ${index} 🔑 é`)
  const leases = await Promise.all(keys.map((key) => locks.acquire(key, { ttl: 300 })))
  expect(await scriptCalls()).toBe(1)
  await sleep(700)
  expect(leases.every(({ held }) => held)).toBe(true)
  const outcomes = await Promise.all(leases.map((lease) => lease.release()))
  expect(new Set(outcomes)).toEqual(new Set(['released']))
})

it('serves fifty waiters of one process with few commands', async () => {
  const rounds = 20
  const work = async () => {
    for (let round = 0; round < rounds; round++) await locks.using('busy', { wait: 20_000 }, () => {})
  }
  await Promise.all(Array.from({ length: 50 }, work))
  expect((await scriptCalls()) / (50 * rounds)).toBeLessThanOrEqual(0.15)
})

it('leaves of a free key nothing but its last token, for a day and some hours from when the hold would have ended', async () => {
  const lease = await locks.acquire('order:{42}', { ttl: 10_000 })
  const name = lockName('order:{42}')
  expect(await operator.pttl(name)).toBeGreaterThan(KEPT_MS)
  await lease.release()
  expect(await operator.hgetall(name)).toEqual({
    format: '2',
    seq: String((lease.token as bigint) / 256n),
    kept: expect.any(String),
  })
  const lifeMs = await operator.pttl(name)
  expect(lifeMs).toBeLessThanOrEqual(KEPT_MS + 10_000)
  expect(lifeMs).toBeGreaterThan(KEPT_MS)
})

describe('the time to live of a key that was used before', () => {
  const name = lockName('used')

  /** Takes, renews and releases the key when it has so long to live, and says how long it lives then. */
  async function lifeAfter(livesMs: number, ttlMs: number): Promise<number> {
    await locks.using('used', () => {})
    const [seconds] = (await operator.time()).map(Number) as [number]
    await operator.hset(name, 'kept', seconds * 1000 + livesMs)
    await operator.pexpire(name, livesMs)
    const lease = await locks.acquire('used', { ttl: ttlMs })
    await lease.extend(ttlMs)
    await lease.release()
    return operator.pttl(name)
  }

  it('is left as it is while it lasts for a day after the hold', async () => {
    const lifeMs = await lifeAfter(DAY_MS + 20_000, 10_000)
    expect(lifeMs).toBeLessThanOrEqual(DAY_MS + 20_000)
    expect(lifeMs).toBeGreaterThan(DAY_MS)
  })

  it('is set anew when it would not', async () => {
    expect(await lifeAfter(DAY_MS + 5_000, 10_000)).toBeGreaterThan(KEPT_MS)
  })
})

it('gives every key of a lock a time to live, whatever it is used for', async () => {
  const other = createLocks({ store: redis(operator) })
  const readers = await Promise.all([locks.rw('ttl rw').read.acquire(), other.rw('ttl rw').read.acquire()])
  const permit = await locks.semaphore('ttl permits', { limit: 3 }).acquire({ weight: 2 })
  const lease = await locks.acquire('ttl busy', { owner: 'somebody' })
  const waiting = other.acquire('ttl busy', { wait: 60_000 })
  await expect.poll(async () => (await locks.read('ttl busy')).queue.length).toBe(1)
  const names = await operator.keys('holdfast:*')
  for (const part of ['lock', 'state', 'holders', 'owners', 'claims', 'queue', 'alive'])
    expect(
      names.some((name) => name.startsWith(`holdfast:${part}:`)),
      part,
    ).toBe(true)
  for (const name of names) expect(await operator.pttl(name), name).toBeGreaterThan(0)
  await Promise.all([...readers, permit, lease].map((held) => held.release()))
  await (await waiting).release()
  await other.close()
})

it('refuses a key in a format of the future, and leaves it alone', async () => {
  const name = lockName('future')
  await operator.hset(name, 'format', '3')
  await expect(locks.tryAcquire('future')).rejects.toThrow(/format/)
  await expect(locks.read('future')).rejects.toThrow(/format/)
  await expect(locks.evict('future')).rejects.toThrow(/format/)
  expect(await operator.hgetall(name)).toEqual({ format: '3' })
  await operator.del(name)
})

it('neither renews nor releases what a later version has rewritten', async () => {
  const [one, two] = await Promise.all([locks.acquire('rewritten'), locks.acquire('also rewritten')])
  const names = ['rewritten', 'also rewritten'].map(lockName) as [string, string]
  for (const name of names) await operator.set(name, '2?', 'PX', 60_000)
  await expect(one.extend(20_000)).rejects.toThrow(/format/)
  const released = await Promise.allSettled([one.release(), two.release()])
  for (const { status, reason } of released as PromiseRejectedResult[]) {
    expect(status).toBe('rejected')
    expect(reason.message).toMatch(/format/)
  }
  expect(await operator.mget(...names)).toEqual(['2?', '2?'])
  await operator.del(...names)
})

it('works behind a key prefix of the client', async () => {
  const prefixed = new Redis(server.port, { keyPrefix: 'app{1}:' })
  const [a, b] = [createLocks({ store: redis(prefixed) }), createLocks({ store: redis(prefixed) })]
  const lease = await a.acquire('prefixed')
  const acquired = b.acquire('prefixed')
  await expect.poll(async () => (await a.read('prefixed')).queue.length).toBe(1)
  const listed: string[] = []
  for await (const { key } of a.list({ prefix: 'pre' })) listed.push(key)
  expect(listed).toEqual(['prefixed'])
  expect((await locks.read('prefixed')).holders).toEqual([])
  await lease.release()
  await (await acquired).release()
  await Promise.all([a.close(), b.close()])
  prefixed.disconnect()
})

it('opens a URL with user, password and database, and closes what it opened', async () => {
  await operator.call('ACL', ['SETUSER', 'shop', 'on', '>s:e@c', '~holdfast:*', '&holdfast:*', '+@all'])
  const before = await connections()
  const opened = await connect(`redis://shop:s%3Ae%40c@127.0.0.1:${server.port}/3`)
  const lease = await opened.acquire('in another database')
  expect((await locks.read('in another database')).holders).toEqual([])
  await operator.select(3)
  expect(await operator.exists(lockName('in another database'))).toBe(1)
  await operator.select(0)
  await lease.release()
  await opened.close()
  await expect.poll(connections).toBe(before)
})

it('says at once what is wrong with a URL or its server', async () => {
  await expect(connect('redis://')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await expect(connect('redis://localhost/name')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  const refused = connect('redis://user:secret@127.0.0.1:1')
  await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(refused).rejects.not.toThrow(/secret/)
  await expect(connect(`redis://nobody:wrong@127.0.0.1:${server.port}`)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
})

it('refuses what is no client of a known library, and says what is accepted', () => {
  class Stranger {
    customCommand() {}
    close() {}
  }
  // As far as version 4 of node-redis goes, which cannot be destroyed.
  const old = { isReady: true, isOpen: true, sendCommand() {}, duplicate() {}, disconnect() {} }
  const accepted = 'ioredis 5 or 6, of redis (node-redis) 5 or 6, or of @valkey/valkey-glide 2'
  for (const [client, given] of [
    [new Stranger(), 'not an object of the class Stranger'],
    [{ customCommand() {}, close() {} }, 'not an object of the class Object'],
    [Object.create(null), 'not an object'],
    [old, 'not an object of the class Object'],
    [{ isCluster: true }, 'not an object of the class Object'],
    [{}, 'not an object of the class Object'],
    [() => {}, 'not an object of the class Function'],
    ['redis://user:secret@localhost', 'not a text (connect() takes a URL)'],
    [null, 'not null'],
    [undefined, 'not undefined'],
  ] as const) {
    const problem = `client must be a client of ${accepted}, ${given}`
    expect(() => redis(client as never)).toThrow(problem)
    expect(() => quorum([client as never])).toThrow(problem)
  }
  expect(() => redis({} as never)).toThrow(InvalidArgumentError)
})

it('knows the cluster client of glide, whatever its class is called after a build', async () => {
  class a extends GlideClusterClient {}
  const client = Object.create(a.prototype, { config: { value: {} } })
  expect(() => redis(client)).toThrow(UnsupportedError)
})

async function scriptCalls(): Promise<number> {
  const text = await operator.info('commandstats')
  return [...text.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  )
}

async function connections(): Promise<number> {
  return String(await operator.call('CLIENT', ['LIST']))
    .trim()
    .split('\n').length
}

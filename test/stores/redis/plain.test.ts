import { connect, createLocks, type Locks, type LocksOptions, LockTimeoutError } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { stateName } from '../../../src/stores/redis/plain/names.ts'
import { sleep } from './load.ts'
import { type Peer, peersOf } from './peers.ts'

let server: RedisServer
let client: Redis
let peers: Record<string, Peer>
const opened: Locks[] = []

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
  peers = peersOf(client)
})

afterAll(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  client?.disconnect()
  await server?.stop()
})

function open(options: LocksOptions = {}): Locks {
  const locks = createLocks({ store: redis(client, { format: 'plain' }), ...options })
  opened.push(locks)
  return locks
}

it('keeps records, so that every recipe works', async () => {
  const locks = open()
  expect([await locks.once('payment', () => 1), await locks.once('payment', () => 2)]).toEqual([1, 1])
  expect(await locks.update('counter', () => 1)).toBe(1)
  expect(await locks.cached('rate', { ttl: '30s' }, () => 7)).toBe(7)
  expect(await locks.job('nightly', { atLeast: '1m', atMost: '1h' }, () => {})).toBe('ran')
  const sale = locks.inventory('sale')
  await sale.stock(2)
  expect(await sale.take('ada')).toMatchObject({ kind: 'taken', count: 1 })
})

describe.each(['redlock', 'redis-semaphore', 'a script written by hand'])('beside %s', (name) => {
  const takeAs = (key: string, ttlMs: number) => (peers[name] as Peer).tryTake(key, ttlMs)
  let prefix: string
  let locks: Locks

  beforeAll(() => {
    prefix = (peers[name] as Peer).prefix
    locks = open({ prefix, ttl: 10_000 })
  })

  it('waits for what the other holds', async () => {
    const letGo = await takeAs(`${prefix}a`, 10_000)
    expect(await locks.tryAcquire('a')).toBeNull()
    const error = await locks.acquire('a', { wait: 50 }).catch((error) => error)
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect(error).toMatchObject({ holder: 'not a Holdfast process', heldMs: null })
    const acquired = locks.acquire('a', { wait: 5000 })
    await letGo?.()
    const lease = await acquired
    expect(lease.held).toBe(true)
    await lease.release()
  })

  it('is waited for by the other', async () => {
    const lease = await locks.acquire('b')
    expect(await takeAs(`${prefix}b`, 10_000)).toBeNull()
    await lease.release()
    const letGo = await takeAs(`${prefix}b`, 10_000)
    expect(letGo).not.toBeNull()
    await letGo?.()
  })

  it('is not freed by a late release of the other', async () => {
    const letGo = await takeAs(`${prefix}c`, 50)
    const lease = await locks.acquire('c')
    await letGo?.()
    expect(await locks.mutex('c').tryAcquire()).toBeNull()
    await lease.extend('20s')
    expect(await lease.release()).toBe('released')
  })

  it('does not free the other by a late release', async () => {
    const lease = await locks.acquire('d', { ttl: 50, renew: false })
    const letGo = await untilTaken(() => takeAs(`${prefix}d`, 10_000))
    expect(await lease.release()).toBe('expired')
    expect(await locks.tryAcquire('d')).toBeNull()
    await letGo()
  })

  it('never holds at the same time, and its tokens rise', async () => {
    const others = [open({ prefix }), open({ prefix })]
    const tokens: bigint[] = []
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await sleep(1)
      inside--
    }
    const ours = async (own: Locks) => {
      for (let round = 0; round < 15; round++) {
        await own.using('e', { wait: 20_000 }, async ({ token }) => {
          tokens.push(token as bigint)
          await work()
        })
      }
    }
    const theirs = async () => {
      for (let round = 0; round < 15; round++) {
        const letGo = await untilTaken(() => takeAs(`${prefix}e`, 10_000))
        await work()
        await letGo()
      }
    }
    await Promise.all([...others.map(ours), theirs(), theirs()])
    expect(most).toBe(1)
    expect(tokens).toHaveLength(30)
    expect([...tokens].sort((a, b) => (a < b ? -1 : 1))).toEqual(tokens)
  })

  it('shows the other to operators, who can evict it', async () => {
    await locks.using('f', () => {})
    await takeAs(`${prefix}f`, 10_000)
    const view = await locks.read('f')
    expect(view.holders).toMatchObject([{ label: 'not a Holdfast process', token: null, heldMs: null }])
    expect(view.holders[0]?.expiresInMs).toBeGreaterThan(5000)
    const listed: string[] = []
    for await (const { key } of locks.list()) listed.push(key)
    expect(listed).toContain('f')
    await expect(locks.evict('f', { ask: true })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect(await locks.evict('f', { token: view.token as bigint })).toEqual([])
    expect(await locks.evict('f')).toEqual(['not a Holdfast process'])
    expect((await locks.acquire('f')).token).toBeGreaterThan(view.token as bigint)
  })
})

it('writes nothing but the id to the key, with the ttl of the lease', async () => {
  const lease = await open().acquire('bare', { ttl: 5000 })
  expect(await client.get('bare')).toBe(lease.id)
  const lifeMs = await client.pttl('bare')
  expect(lifeMs).toBeGreaterThan(3000)
  expect(lifeMs).toBeLessThanOrEqual(5000)
  await lease.release()
  expect(await client.exists('bare')).toBe(0)
  expect(await client.pttl(stateName('bare'))).toBeGreaterThan(80_000_000)
})

it('loses a lease whose key somebody deleted, and does not take it back', async () => {
  const lease = await open().acquire('deleted', { ttl: 300 })
  await client.del('deleted')
  await expect.poll(() => lease.held).toBe(false)
  expect(lease.signal.aborted).toBe(true)
  expect(await client.exists('deleted')).toBe(0)
})

it('waits for a lock of others that has no end, until it is gone', async () => {
  const locks = open()
  await client.set('endless', 'somebody')
  const acquired = locks.acquire('endless', { wait: 5000 })
  await expect.poll(() => locks.read('endless')).toMatchObject({ holders: [{ expiresInMs: null }] })
  await client.del('endless')
  await (await acquired).release()
})

it('refuses what it cannot keep', async () => {
  const locks = open()
  const unsupported = { code: 'UNSUPPORTED' }
  await expect(locks.rw('x').read.acquire()).rejects.toMatchObject(unsupported)
  await expect(locks.semaphore('x', { limit: 2 }).acquire()).rejects.toMatchObject(unsupported)
  await expect(locks.acquire('x', { owner: 'me' })).rejects.toMatchObject(unsupported)
  expect(() => open({ lockDelay: '1s' })).toThrow(/closed after an expiry/)
  await client.hset('data', 'a', 1)
  await expect(locks.acquire('data')).rejects.toMatchObject({ code: 'CONFLICT' })
  expect((await locks.read('data')).holders).toEqual([])
  expect(await client.hget('data', 'a')).toBe('1')
  await expect(locks.acquire('holdfast:lock:{a}')).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(() => redis(client, { format: 'fancy' as never })).toThrow(/format/)
})

it('does not stand in the way of keys beside one that it refuses', async () => {
  const locks = open()
  await client.hset('data 2', 'a', 1)
  const refused = locks.acquire('data 2').catch((error) => error.code)
  const [lease, code] = await Promise.all([locks.acquire('sound'), refused])
  expect([lease.held, code]).toEqual([true, 'CONFLICT'])
})

it('refuses a side key in a format of the future on every call, and leaves all as it is', async () => {
  const locks = open()
  const lease = await locks.acquire('future')
  await client.set(stateName('future'), '2?')
  await expect(lease.extend(20_000)).rejects.toThrow(/format/)
  await expect(open().tryAcquire('future')).rejects.toThrow(/format/)
  await expect(locks.read('future')).rejects.toThrow(/format/)
  await expect(locks.evict('future')).rejects.toThrow(/format/)
  await expect(lease.release()).rejects.toThrow(/format/)
  expect(await client.get('future')).toBe(lease.id)
  expect(await client.get(stateName('future'))).toBe('2?')
})

it('works behind a key prefix of the client', async () => {
  const prefixed = new Redis(server.port, { keyPrefix: 'app:' })
  const store = () => redis(prefixed, { format: 'plain' })
  const [a, b] = [createLocks({ store: store() }), createLocks({ store: store() })]
  const lease = await a.acquire('key')
  expect(await client.get('app:key')).toBe(lease.id)
  const acquired = b.acquire('key', { ttl: 60_000 })
  const revoked = new Promise<void>((resolve) => lease.on('revoked', resolve))
  await b.evict('key', { ask: true })
  await revoked
  const listed: string[] = []
  for await (const { key } of a.list({ prefix: 'k' })) listed.push(key)
  expect(listed).toEqual(['key'])
  await lease.release()
  await (await acquired).release()
  await Promise.all([a.close(), b.close()])
  prefixed.disconnect()
})

it('is chosen by a URL, too', async () => {
  const locks = await connect(`${server.url}?format=plain`)
  opened.push(locks)
  expect(locks.traits.name).toBe('redis-plain')
  const lease = await locks.acquire('by url')
  expect(await client.get('by url')).toBe(lease.id)
  await expect(connect(`${server.url}?format=fancy`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

async function untilTaken(take: () => Promise<(() => Promise<unknown>) | null>) {
  for (;;) {
    const letGo = await take()
    if (letGo !== null) return letGo
    await sleep(5)
  }
}

import { createLocks, type Locks } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Claim } from '../../../src/model/index.ts'
import { sleep } from './load.ts'
import { Process } from './plain-process.ts'

const server = await startRedis()
const operator = new Redis(server.port)
const processes: Process[] = []

async function open(): Promise<Process> {
  const process = await Process.open(operator)
  processes.push(process)
  return process
}

afterEach(async () => {
  await Promise.all(processes.splice(0).map(({ store }) => store.close()))
  await operator.flushall()
})
afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

describe('a turn', () => {
  it('of a dead waiter passes on after about a second, and the position with it', async () => {
    const [a, b, c] = [await open(), await open(), await open()]
    const holder = await a.taken('key')
    const dead = await b.joined('key')
    const next = await c.joined('key')
    await a.release(holder)
    await expect.poll(() => b.told()).toEqual([dead.id])
    const early = await c.attempt(next)
    expect(early).toMatchObject({ kind: 'blocked', position: 2, holder: null })
    if (early?.kind !== 'blocked') return
    expect(early.retryAfterMs).toBeLessThanOrEqual(1000)
    await sleep((early.retryAfterMs ?? 0) + 20)
    expect(await c.attempt(next)).toMatchObject({ kind: 'granted', contended: false })
    expect(await b.renew(dead)).toEqual({ kind: 'lost' })
    expect(c.told()).toEqual([])
  })

  it('of a dead waiter passes on by the renewal of another, who is told', async () => {
    const [a, b, c] = [await open(), await open(), await open()]
    const holder = await a.taken('key')
    const dead = await b.joined('key')
    const next = await c.joined('key')
    await a.release(holder)
    expect(await c.renew(next)).toMatchObject({ kind: 'waiting', position: 2 })
    await sleep(1020)
    expect(await c.renew(next)).toMatchObject({ kind: 'waiting', position: 1 })
    await expect.poll(() => c.told()).toEqual([next.id])
    expect(await b.renew(dead)).toEqual({ kind: 'lost' })
    expect(await c.attempt(next)).toMatchObject({ kind: 'granted' })
  })

  it('of one who leaves passes on at once', async () => {
    const [a, b] = [await open(), await open()]
    const holder = await a.taken('key')
    const [first, second] = [await a.joined('key'), await b.joined('key')]
    await a.release(holder)
    await a.release(first)
    await expect.poll(() => b.told()).toEqual([second.id])
    expect(await b.attempt(second)).toMatchObject({ kind: 'granted' })
  })

  it('is not taken by a newcomer, nor by the second in the queue', async () => {
    const [a, b] = [await open(), await open()]
    const holder = await a.taken('key')
    const [first, second] = [await a.joined('key'), await b.joined('key')]
    await a.release(holder)
    for (const claim of [b.claim('key', { queue: false }), second])
      expect(await b.attempt(claim)).toMatchObject({ kind: 'blocked', holder: null })
    expect(await a.attempt(first)).toMatchObject({ kind: 'granted', contended: true })
  })

  it('is given by each way in which a key becomes free', async () => {
    const [a, b] = [await open(), await open()]
    await a.taken('evicted')
    const evicted = await b.joined('evicted')
    await a.store.admin.evict('evicted', null, false)
    await a.taken('expired', { ttlMs: 50 })
    const expired = await b.joined('expired')
    const newcomer = a.claim('expired', { queue: false })
    await expect.poll(() => operator.exists('expired')).toBe(0)
    expect(await a.attempt(newcomer)).toMatchObject({ kind: 'blocked' })
    await operator.set('deleted', 'another library')
    const deleted = await b.joined('deleted')
    await operator.del('deleted')
    expect(await b.renew(deleted)).toMatchObject({ kind: 'waiting', position: 1 })
    await expect.poll(() => b.told()).toEqual([evicted.id, expired.id, deleted.id])
    for (const claim of [evicted, expired, deleted])
      expect(await b.attempt(claim)).toMatchObject({ kind: 'granted' })
  })

  it.each(['attempt', 'renew'] as const)(
    'is a new one after another library was faster: %s',
    async (step) => {
      const [a, b] = [await open(), await open()]
      const holder = await a.taken('key')
      const [first, second] = [await a.joined('key'), await b.joined('key')]
      await a.release(holder)
      await operator.set('key', 'another library', 'PX', 60_000, 'NX')
      expect(await a[step](first)).toMatchObject({ position: 1 })
      await sleep(1020)
      await operator.del('key')
      expect(await b.attempt(second)).toMatchObject({ kind: 'blocked', position: 2 })
      await expect.poll(() => a.told()).toEqual([first.id, first.id])
      expect(await a.attempt(first)).toMatchObject({ kind: 'granted' })
    },
  )
})

it('behind another library the first waiter knows that it is the first, because it has to look', async () => {
  const [a, b] = [await open(), await open()]
  await operator.set('key', 'another library', 'PX', 60_000)
  const [first, dead, last] = [
    await a.joined('key'),
    await a.joined('key', { ttlMs: 50 }),
    await b.joined('key'),
  ]
  await sleep(60)
  await a.release(first)
  await expect.poll(() => b.told()).toEqual([last.id])
  expect(await b.attempt(last)).toMatchObject({ kind: 'blocked', position: 1, retryAfterMs: 100 })
  expect(await a.renew(dead)).toEqual({ kind: 'lost' })
})

it('a position is renewed, and never shortened', async () => {
  const a = await open()
  await a.taken('key')
  const waiter = await a.joined('key')
  const short = { ...waiter, ttlMs: 50 }
  expect(await a.renew(short)).toMatchObject({ kind: 'waiting', position: 1 })
  expect(await a.attempt(short)).toMatchObject({ kind: 'blocked', position: 1 })
  await sleep(80)
  expect(await a.renew(waiter)).toMatchObject({ kind: 'waiting', position: 1 })
})

it('claims on one key in one call are answered one after the other', async () => {
  const a = await open()
  const claims = Array.from({ length: 3 }, () => a.claim('key'))
  const [first, second, third] = claims as [Claim, Claim, Claim]
  expect(await a.store.attempt([first, second, first, third, second])).toMatchObject([
    { kind: 'granted', contended: false },
    { kind: 'blocked', position: 1 },
    { kind: 'granted', contended: true },
    { kind: 'blocked', position: 2 },
    { kind: 'blocked', position: 1 },
  ])
  await expect.poll(() => a.heard.filter(({ kind }) => kind === 'contended').length).toBe(1)
  expect(await a.store.renew(claims)).toMatchObject([
    { kind: 'renewed', contended: true },
    { kind: 'waiting', position: 1 },
    { kind: 'waiting', position: 2 },
  ])
  expect(await a.store.release([second, first, second])).toMatchObject([
    { kind: 'released' },
    { kind: 'released' },
    { kind: 'absent' },
  ])
  await expect.poll(() => a.told()).toEqual([third.id])
})

it('a turn that overtakes the answer of the attempt before it is not lost', async () => {
  const clients = [1, 2].map(() => new Redis(server.port))
  const [a, b] = clients.map((client) =>
    createLocks({ store: redis(client, { format: 'plain', check: false }) }),
  ) as [Locks, Locks]
  await Promise.all([a.using('warm a', () => {}), b.using('warm b', () => {})])
  const waitedMs: number[] = []
  for (let round = 0; round < 30; round++) {
    const lease = await a.acquire(`key ${round}`)
    // Both reach the server at once, and it writes its answers to the two connections in any order.
    const acquired = b.acquire(`key ${round}`)
    await lease.release()
    const next = await acquired
    waitedMs.push(next.waitedMs)
    await next.release()
  }
  expect(Math.max(...waitedMs)).toBeLessThan(500)
  await Promise.all([a.close(), b.close()])
  for (const client of clients) client.disconnect()
})

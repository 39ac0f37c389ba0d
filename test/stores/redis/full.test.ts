import { connect, createLocks, type Locks, StoreError } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Deal } from '../../../src/model/index.ts'
import { failure } from '../../core/support.ts'

const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
const operators = servers.map(({ port }) => new Redis(port))
const [server, operator] = [servers[0], operators[0]]
let locks: Locks

/** The servers have no memory left, from one moment to the next. */
const fill = () => Promise.all(operators.map((each) => each.config('SET', 'maxmemory', '1')))
const empty = () => Promise.all(operators.map((each) => each.config('SET', 'maxmemory', '0')))

afterEach(async () => {
  await empty()
  await locks.close()
  await Promise.all(operators.map((each) => each.flushall()))
})

describe.each([
  ['redis', () => connect(server?.url ?? '')],
  ['redis, plain', () => connect(`${server?.url}?format=plain`)],
  ['quorum', async () => createLocks({ store: quorum(operators) })],
])('%s, when maxmemory is reached', (_, open) => {
  beforeEach(async () => {
    locks = await open()
  })

  it('renews and releases, alone and in batches, and refuses claims with a reason', async () => {
    const keys = Array.from({ length: 10 }, (_, place) => `key ${place}`)
    const leases = await Promise.all(keys.map((key) => locks.acquire(key, { ttl: 900 })))
    await fill()
    const error = await failure(locks.acquire('new', { wait: 0 }))
    expect(error).toBeInstanceOf(StoreError)
    expect(error.message).toMatch(/maxmemory/)
    // Two ttls: without renewals they would be over.
    await new Promise((resolve) => setTimeout(resolve, 1800))
    expect(leases.map(({ held }) => held)).toEqual(leases.map(() => true))
    const [first, ...others] = leases
    expect(await first?.release()).toBe('released')
    expect(await Promise.all(others.map((lease) => lease.release()))).toEqual(others.map(() => 'released'))
    await empty()
    await Promise.all(keys.map((key) => locks.using(key, { wait: 0 }, () => {})))
  })
})

it('a hold passes to the next in the queue although the memory is full', async () => {
  locks = await connect(server?.url ?? '')
  const other = await connect(server?.url ?? '')
  const lease = await locks.acquire('key')
  const waiting = other.acquire('key', { wait: 10_000 })
  await expect.poll(async () => (await locks.read('key')).queue.length).toBe(1)
  await fill()
  await lease.release()
  expect((await waiting).held).toBe(true)
  await other.close()
})

it.each([
  ['counted', 9],
  ['named', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']],
] as const)('orders for %s goods are settled although the memory is full', async (_, goods) => {
  locks = await connect(server?.url ?? '')
  const client = new Redis(server?.port ?? 0)
  const store = redis(client, { check: false })
  const deal = (wanted: Deal) => store.records?.inventory?.('stock', wanted)
  const take = { kind: 'take', count: 2, perBuyer: null } as const
  await deal({ kind: 'open', goods, ttlMs: null })
  await deal({ ...take, order: 'back', buyer: 'ann', holdMs: 60_000 })
  await deal({ ...take, order: 'sold', buyer: 'bob', holdMs: 60_000 })
  await deal({ ...take, order: 'moved', buyer: null, holdMs: null })
  await fill()
  expect(await deal({ kind: 'giveBack', order: 'back' })).toEqual({ kind: 'settled' })
  expect(await deal({ kind: 'confirm', order: 'sold' })).toEqual({ kind: 'settled' })
  expect(await deal({ kind: 'ship', order: 'moved' })).toEqual({ kind: 'settled' })
  await empty()
  expect(await deal({ kind: 'look' })).toMatchObject({ left: 5, held: 0, sold: 2, moving: [] })
  await store.close()
  client.disconnect()
})

it('an operator is told first that the memory is full', async () => {
  locks = await connect(server?.url ?? '')
  await operator?.config('SET', 'maxmemory', '1')
  const { findings } = await locks.doctor({ watch: 0 })
  expect(findings[0]).toMatchObject({
    severity: 'critical',
    evidence: expect.stringMatching(/memory .* is full/),
  })
})

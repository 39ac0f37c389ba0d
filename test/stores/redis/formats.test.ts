import { connect, createLocks, type Locks } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { Redis } from 'ioredis'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { quorumName } from '../../../src/stores/quorum/redis/names.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { stateName } from '../../../src/stores/redis/plain/names.ts'
import { failure } from '../../core/support.ts'

const server = await startRedis()
const operator = new Redis(server.port)
const KEYS = Array.from({ length: 30 }, (_, index) => `key ${index}`)
const ODD = 'key 17'
let locks: Locks

afterEach(async () => {
  await locks.close()
  await operator.flushall()
})
afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

const UNKNOWN_FORMAT = { message: expect.stringContaining('format') }

describe.each([
  ['redis, a newer format', () => connect(server.url), lockName, '9z from a later version'],
  ['redis, a state that cannot be read', () => connect(server.url), lockName, '1s\u0093'],
  ['quorum', async () => createLocks({ store: quorum([operator]) }), quorumName, '9z from a later version'],
])('%s: one key in an unknown format among many', (_, open, nameOf, value) => {
  it('costs nobody else a claim, a renewal or a release', async () => {
    locks = await open()
    const lost: string[] = []
    const leases = await Promise.all(KEYS.map((key) => locks.acquire(key, { ttl: 900 })))
    for (const lease of leases) lease.signal.addEventListener('abort', () => lost.push(lease.key))
    await operator.set(nameOf(ODD), value, 'PX', 60_000)
    // Not lost at once: what a later version has written may well be our hold.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(lost).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(lost).toEqual([ODD])
    const others = leases.filter(({ key }) => key !== ODD)
    expect(await Promise.all(others.map((lease) => lease.release()))).toEqual(others.map(() => 'released'))
    const outcomes = await Promise.all(
      KEYS.map((key) =>
        locks.acquire(key, { wait: 0 }).then(
          () => 'granted',
          (error) => error.message,
        ),
      ),
    )
    for (const [index, outcome] of outcomes.entries()) {
      if (KEYS[index] === ODD) expect(outcome).toContain('format')
      else expect(outcome).toBe('granted')
    }
    expect(await operator.get(nameOf(ODD))).toBe(value)
  })

  it('is shown in a list beside the others', async () => {
    locks = await open()
    await Promise.all(KEYS.map((key) => locks.acquire(key)))
    await operator.set(nameOf(ODD), value, 'PX', 60_000)
    const strange: string[] = []
    const keys: string[] = []
    for await (const { key, holders } of locks.list()) {
      keys.push(key)
      expect(holders.length).toBe(1)
      if (holders[0]?.label === 'another version of Holdfast') strange.push(key)
    }
    expect(keys.sort()).toEqual([...KEYS].sort())
    expect(strange).toEqual([ODD])
    expect((await locks.doctor({ watch: 0 })).keys).toBe(KEYS.length)
  })

  it('does not spoil the releases of its own batch', async () => {
    locks = await open()
    const leases = await Promise.all(KEYS.map((key) => locks.acquire(key)))
    await operator.set(nameOf(ODD), value, 'PX', 60_000)
    const outcomes = await Promise.allSettled(leases.map((lease) => lease.release()))
    for (const [index, outcome] of outcomes.entries()) {
      if (KEYS[index] === ODD) expect(outcome).toMatchObject({ status: 'rejected', reason: UNKNOWN_FORMAT })
      else expect(outcome).toMatchObject({ status: 'fulfilled', value: 'released' })
    }
  })
})

it('plain: a key with a side in an unknown format is shown in a list beside the others', async () => {
  locks = await connect(`${server.url}?format=plain`)
  await Promise.all(KEYS.map((key) => locks.acquire(key)))
  await operator.set(stateName(ODD), '9z from a later version', 'PX', 60_000)
  const shown = new Map<string, string | undefined>()
  for await (const { key, holders } of locks.list()) shown.set(key, holders[0]?.label)
  expect([...shown.keys()].sort()).toEqual([...KEYS].sort())
  expect([...shown].filter(([, label]) => label === 'another version of Holdfast')).toEqual([
    [ODD, 'another version of Holdfast'],
  ])
})

describe('a ttl of many days', () => {
  it.each([899_999_999, 900_000_000, 2 ** 31 - 1])('%d ms', async (ttl) => {
    locks = await connect(server.url, { maxTtl: ttl })
    const [long, ...others] = await Promise.all([
      locks.acquire('long', { ttl }),
      locks.acquire('short'),
      locks.acquire('alone'),
    ])
    const waiting = connect(server.url, { maxTtl: ttl }).then(async (other) => {
      const lease = await other.acquire('long', { ttl, wait: 10_000 })
      await lease.release()
      await other.close()
      return lease.token
    })
    await expect.poll(async () => (await locks.read('long')).queue.length).toBe(1)
    expect(await operator.pttl(lockName('long'))).toBeGreaterThan(ttl - 10_000)
    expect(await long.release()).toBe('released')
    expect(await waiting).toBeGreaterThan(long.token as bigint)
    for (const lease of others) expect(await lease.release()).toBe('released')
  })

  it('is bounded with an error that names the limit', async () => {
    const error = await failure(connect(server.url, { maxTtl: 2 ** 31 }))
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('2147483647') })
    locks = await connect(server.url)
  })
})

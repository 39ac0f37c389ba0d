import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect, type Lease, type Locks } from 'holdfast'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { olderBuild } from '../../bench/builds.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { lockName } from '../../src/stores/redis/names.ts'
import { stateName } from '../../src/stores/redis/plain/names.ts'
import { failure } from '../core/support.ts'

/** The last commit whose processes keep a lock in one string, format 1; here as the package that it built. */
const { folder } = olderBuild('d000904', () => {})
const version1 = (await import(pathToFileURL(join(folder, 'dist', 'index.js')).href)) as {
  connect: typeof connect
}
const KEYS = ['a', 'b', 'c']
const UNSUPPORTED = { code: 'UNSUPPORTED', message: expect.stringContaining('format') }

const servers = await Promise.all(Array.from({ length: 3 }, () => startRedis()))
const operators = servers.map(({ port }) => new Redis(port))
const [operator] = operators as [Redis]
let ours: Locks
let theirs: Locks

afterAll(async () => {
  for (const each of operators) each.disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

function openBoth(url: string): void {
  beforeEach(async () => {
    ours = await connect(url)
    theirs = await version1.connect(url)
  })
  afterEach(async () => {
    await Promise.all([ours.close(), theirs.close()])
    await Promise.all(operators.map((each) => each.flushall()))
  })
}

/** The leftovers of keys after each kind of use. */
const uses: [string, (locks: Locks) => Promise<unknown>][] = [
  ['that is held', (locks) => Promise.all(KEYS.map((key) => locks.acquire(key)))],
  ['that is free again', (locks) => Promise.all(KEYS.map((key) => locks.using(key, () => {})))],
  ['that readers hold', (locks) => Promise.all(KEYS.map((key) => locks.rw(key).read.acquire()))],
]

/** How claims fail that want the keys: alone, in a batch, while they wait, and as a group. */
async function failures(locks: Locks): Promise<(Error & { code?: string })[]> {
  return [
    await failure(locks.acquire('a', { wait: 0 })),
    ...(await Promise.all(KEYS.map((key) => failure(locks.acquire(key, { wait: 0 }))))),
    await failure(locks.acquire('b', { wait: 500 })),
    await failure(locks.all(['a', 'b'], { wait: 0 })),
  ]
}

describe('Redis', () => {
  openBoth(servers[0]?.url as string)
  const oldName = (key: string): string => `holdfast:lock:{${key}}`
  const written = () => Promise.all(KEYS.map((key) => operator.hgetall(lockName(key))))

  it.each(uses)('a process of version 1 is refused on a key of version 2 %s', async (_, use) => {
    await use(ours)
    const before = await written()
    // It knows no better code for a refusal.
    for (const problem of await failures(theirs))
      expect(problem).toMatchObject({ ...UNSUPPORTED, code: 'CONFLICT' })
    await expect(theirs.read('a')).rejects.toMatchObject(UNSUPPORTED)
    await expect(theirs.evict('a')).rejects.toMatchObject(UNSUPPORTED)
    expect(await written()).toEqual(before)
  })

  it.each(uses)('a process of version 2 is refused on a key of version 1 %s', async (_, use) => {
    await use(theirs)
    const before = await operator.mget(KEYS.map(oldName))
    for (const problem of await failures(ours)) expect(problem).toMatchObject(UNSUPPORTED)
    await expect(ours.read('a')).rejects.toMatchObject(UNSUPPORTED)
    await expect(ours.evict('a')).rejects.toMatchObject(UNSUPPORTED)
    expect(await operator.mget(KEYS.map(oldName))).toEqual(before)
    expect(await operator.exists(KEYS.map(lockName))).toBe(0)
  })

  it('a lease of version 1 neither renews nor releases what version 2 took since', async () => {
    const old = await theirs.acquire('a')
    await operator.del(oldName('a'))
    const lease = await ours.acquire('a')
    const before = await operator.hgetall(lockName('a'))
    await expect(old.extend('20s')).rejects.toMatchObject(UNSUPPORTED)
    await expect(old.release()).rejects.toMatchObject(UNSUPPORTED)
    expect(await operator.hgetall(lockName('a'))).toEqual(before)
    await lease.extend('20s')
  })

  it('version 1 is refused for as long as version 2 remembers the key', async () => {
    await ours.acquire('a', { ttl: 60_000 })
    const [lives, marked] = await Promise.all([operator.pttl(lockName('a')), operator.pttl(oldName('a'))])
    expect(Math.abs(lives - marked)).toBeLessThan(1000)
    expect(lives).toBeGreaterThan(86_400_000)
  })
})

describe('plain Redis', () => {
  openBoth(`${servers[0]?.url}?format=plain`)
  const oldName = (key: string): string => `holdfast:plain:{${key}}:${key}`
  const exclusively = uses.filter(([name]) => !name.includes('readers'))

  async function refusals(locks: Locks): Promise<unknown[]> {
    const attempts = KEYS.map((key) => failure(locks.acquire(key, { wait: 0 })))
    return [await failure(locks.acquire('b', { wait: 500 })), ...(await Promise.all(attempts))]
  }

  it.each(exclusively)('a process of version 1 is refused on a key of version 2 %s', async (_, use) => {
    await use(ours)
    const before = await operator.hgetall(stateName('a'))
    for (const problem of await refusals(theirs))
      expect(problem).toMatchObject({ ...UNSUPPORTED, code: 'CONFLICT' })
    await expect(theirs.read('a')).rejects.toMatchObject(UNSUPPORTED)
    expect(await operator.hgetall(stateName('a'))).toEqual(before)
  })

  it.each(exclusively)('a process of version 2 is refused on a key of version 1 %s', async (_, use) => {
    await use(theirs)
    const before = await operator.mget(KEYS.map(oldName))
    for (const problem of await refusals(ours)) expect(problem).toMatchObject(UNSUPPORTED)
    await expect(ours.read('a')).rejects.toMatchObject(UNSUPPORTED)
    await expect(ours.evict('a')).rejects.toMatchObject(UNSUPPORTED)
    expect(await operator.mget(KEYS.map(oldName))).toEqual(before)
    expect(await operator.exists(KEYS.map(stateName))).toBe(0)
  })
})

describe('quorum', () => {
  openBoth(`redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
  const name = (key: string): string => `holdfast:quorum:${key}`

  /** Every node has heard of the keys: who comes first at a node has it. */
  async function untilWritten(type: 'string' | 'hash'): Promise<void> {
    for (const each of operators)
      for (const key of KEYS) await expect.poll(() => each.type(name(key))).toBe(type)
  }

  /** A release reaches the last node a little later; a node that still has the hold keeps a longer text. */
  async function untilSettled(): Promise<void> {
    for (const key of KEYS)
      await expect
        .poll(async () => new Set(await Promise.all(operators.map((each) => each.strlen(name(key))))).size)
        .toBe(1)
  }

  it.each(uses)('a process of version 1 reports an outage on a key of version 2 %s', async (_, use) => {
    await use(ours)
    await untilWritten('hash')
    const outage = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('WRONGTYPE') }
    for (const problem of await failures(theirs)) expect(problem).toMatchObject(outage)
    await expect(theirs.read('a')).rejects.toMatchObject(outage)
    await expect(theirs.evict('a')).rejects.toMatchObject(outage)
    await untilWritten('hash')
  })

  it('a lease of version 2 is not touched by version 1', async () => {
    const leases: Lease[] = await Promise.all(KEYS.map((key) => ours.acquire(key)))
    await untilWritten('hash')
    await failures(theirs)
    for (const lease of leases) {
      await lease.extend('20s')
      expect(await lease.release()).toBe('released')
    }
  })

  it.each(uses)('a process of version 2 is refused on a key of version 1 %s', async (_, use) => {
    await use(theirs)
    await untilWritten('string')
    await untilSettled()
    const before = await Promise.all(operators.map((each) => each.mget(KEYS.map(name))))
    for (const problem of await failures(ours)) expect(problem).toMatchObject(UNSUPPORTED)
    await expect(ours.read('a')).rejects.toMatchObject(UNSUPPORTED)
    await expect(ours.evict('a')).rejects.toMatchObject(UNSUPPORTED)
    expect(await Promise.all(operators.map((each) => each.mget(KEYS.map(name))))).toEqual(before)
  })
})

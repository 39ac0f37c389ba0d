import { createLocks } from 'holdfast'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { CLIENTS } from '../redis/clients.ts'
import { openQuorum } from './open.ts'

async function start() {
  const servers = await Promise.all(Array.from({ length: 3 }, () => startRedis()))
  const operators = servers.map(({ port }) => new Redis(port))
  const bring = CLIENTS['ioredis 5'] as (typeof CLIENTS)[string]
  const { store } = await openQuorum(
    bring,
    servers.map(({ port }) => port),
  )
  const locks = createLocks({ store })
  onTestFinished(async () => {
    await locks.close()
    for (const operator of operators) operator.disconnect()
    await Promise.all(servers.map((server) => server.stop()))
  })
  return { locks, operators }
}

it.each([
  ['format 1', (redis: Redis) => redis.set('holdfast:quorum:k', '2f0000000000000007')],
  ['a later format', (redis: Redis) => redis.hset('holdfast:quorum:k', { format: '3', seq: '7' })],
  ['a hash of somebody else', (redis: Redis) => redis.hset('holdfast:quorum:k', { some: 'thing' })],
])('a key in %s is refused, listed as one of another version, and stays as it is', async (_, write) => {
  const { locks, operators } = await start()
  for (const redis of operators) await write(redis)
  const before = await (operators[0] as Redis).dump('holdfast:quorum:k')
  const unsupported = { code: 'UNSUPPORTED', message: expect.stringContaining('format') }
  await expect(locks.tryAcquire('k')).rejects.toMatchObject(unsupported)
  await expect(locks.read('k')).rejects.toMatchObject(unsupported)
  await expect(locks.evict('k')).rejects.toMatchObject(unsupported)
  await locks.acquire('known')
  const listed = new Map<string, string | undefined>()
  for await (const { key, holders } of locks.list()) listed.set(key, holders[0]?.label)
  expect([...listed.keys()].sort()).toEqual(['k', 'known'])
  expect(listed.get('k')).toBe('another version of Holdfast')
  expect(await (operators[0] as Redis).dump('holdfast:quorum:k')).toEqual(before)
})

it('a lock leaves no string, which a version with format 1 would read', async () => {
  const { locks, operators } = await start()
  const lease = await locks.acquire('k')
  for (const redis of operators) await expect.poll(() => redis.type('holdfast:quorum:k')).toBe('hash')
  await lease.release()
  for (const redis of operators) {
    await expect(redis.get('holdfast:quorum:k')).rejects.toThrow(/WRONGTYPE/)
    // Not every node has heard of the release when a majority has.
    await expect
      .poll(() => redis.hkeys('holdfast:quorum:k').then((keys) => keys.sort()))
      .toEqual(['format', 'seq'])
    expect(await redis.keys('*')).toEqual(['holdfast:quorum:k'])
    expect(await redis.pttl('holdfast:quorum:k')).toBeGreaterThan(86_000_000)
  }
})

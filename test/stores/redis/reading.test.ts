import { createLocks } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, expect, it, vi } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Claim } from '../../../src/model/index.ts'
import { IoredisClient } from '../../../src/stores/redis/clients/ioredis.ts'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'
import { claimOf, permits } from '../../model/arbitraries.ts'

const MOST_TEXTS = 2000
const server = await startRedis()
const client = new Redis(server.port)
// So that no call is sent twice.
await client.call('SCRIPT', ['LOAD', SCRIPTS.read.source])
const store = redis(client)
const locks = createLocks({ store })
afterAll(async () => {
  await locks.close()
  client.disconnect()
  await server.stop()
})

/** The claims of one key, each with a named owner that has two of them: holders up to the limit, and waiters. */
function crowdOf(key: string, size: number, limit: number): Claim[] {
  return Array.from({ length: size }, (_, place) =>
    claimOf(`${key} ${place}`, {
      key,
      mode: permits(limit, 1),
      ttlMs: 60_000,
      queue: true,
      owner: `owner ${place >> 1}`,
    }),
  )
}

/** How many texts each answer of read.lua has while `work` is done. */
async function answersWhile(work: () => Promise<void>): Promise<number[]> {
  const sent = vi.spyOn(IoredisClient.prototype, 'send')
  try {
    await work()
    const reads = sent.mock.calls.flatMap(([, args], place) => (args[0] === SCRIPTS.read.sha ? [place] : []))
    const answers = await Promise.all(reads.map((place) => sent.mock.results[place]?.value))
    return answers.map((answer) => answer.flat(Number.POSITIVE_INFINITY).length)
  } finally {
    sent.mockRestore()
  }
}

it('a crowd of holders with named owners, and of waiters, is read in parts', async () => {
  const [holders, waiters] = [2000, 500]
  const claims = crowdOf('crowd', holders + waiters, holders / 2)
  const answers = await store.attempt(claims)
  const granted = answers.flatMap((answer) => (answer.kind === 'granted' ? [answer.token] : []))
  expect(granted).toHaveLength(holders)
  const sizes = await answersWhile(async () => {
    const view = await locks.read('crowd')
    expect(view.holders.map(({ token }) => token).sort()).toEqual(granted.sort())
    expect(view.queue).toHaveLength(waiters)
  })
  expect(sizes.length).toBeGreaterThan(4)
  expect(Math.max(...sizes)).toBeLessThan(MOST_TEXTS)
})

it('a list of keys that each have a crowd is read in parts', async () => {
  const [keys, size] = [40, 30]
  const names = Array.from({ length: keys }, (_, place) => `busy ${place}`)
  await Promise.all(names.map((key) => store.attempt(crowdOf(key, size, size))))
  const sizes = await answersWhile(async () => {
    const found = new Map<string, number>()
    for await (const { key, holders } of locks.list({ prefix: 'busy' })) found.set(key, holders.length)
    expect(found).toEqual(new Map(names.map((key) => [key, size])))
  })
  expect(Math.max(...sizes)).toBeLessThan(MOST_TEXTS)
})

import { createLocks } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { Redis } from 'ioredis'
import { afterAll, expect, it, vi } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { SCRIPTS } from '../../../src/stores/quorum/scripts.generated.ts'
import { IoredisClient } from '../../../src/stores/redis/clients/ioredis.ts'
import { claimOf, exclusive, shared } from '../../model/arbitraries.ts'

const NODES = 3
const MOST_TEXTS = 3000
const servers = await Promise.all(Array.from({ length: NODES }, () => startRedis()))
const clients = servers.map(({ port }) => new Redis(port))
// So that no call is sent twice.
for (const client of clients)
  for (const { source } of [SCRIPTS.read, SCRIPTS.evict]) await client.call('SCRIPT', ['LOAD', source])
const store = quorum(clients)
const locks = createLocks({ store })
afterAll(async () => {
  await locks.close()
  for (const client of clients) client.disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

function crowdOf(key: string, size: number, mode: Mode): Claim[] {
  return Array.from({ length: size }, (_, place) =>
    claimOf(`${key} ${mode.kind} ${place}`, { key, mode, ttlMs: 60_000, queue: true }),
  )
}

interface Sent {
  readonly args: readonly string[]
  readonly answer: unknown
}

/** The calls of a script while `work` is done. */
async function callsWhile({ sha }: { readonly sha: string }, work: () => Promise<void>): Promise<Sent[]> {
  const sent = vi.spyOn(IoredisClient.prototype, 'send')
  try {
    await work()
    const calls = sent.mock.calls.map(([, args], place) => ({ args, value: sent.mock.results[place]?.value }))
    const wanted = calls.filter(({ args }) => args[0] === sha)
    return await Promise.all(wanted.map(async ({ args, value }) => ({ args, answer: await value })))
  } finally {
    sent.mockRestore()
  }
}

const mostTexts = (calls: readonly Sent[]): number =>
  Math.max(...calls.map(({ answer }) => [answer].flat(Number.POSITIVE_INFINITY).length))

it('a crowd of holders and waiters is read and evicted in parts', async () => {
  const [holders, waiters] = [1000, 500]
  const answers = await store.attempt(crowdOf('crowd', holders, shared))
  expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(holders)
  await store.attempt(crowdOf('crowd', waiters, exclusive))
  const reads = await callsWhile(SCRIPTS.read, async () => {
    const view = await locks.read('crowd')
    expect(view.holders).toHaveLength(holders)
    expect(new Set(view.holders.map(({ token }) => token))).toHaveLength(holders)
    expect(view.queue).toHaveLength(waiters)
  })
  expect(reads.length).toBeGreaterThan(NODES * 4)
  expect(mostTexts(reads)).toBeLessThan(MOST_TEXTS)
  const evictions = await callsWhile(SCRIPTS.evict, async () => {
    expect(await locks.evict('crowd')).toHaveLength(holders)
  })
  expect(Math.max(...evictions.map(({ args }) => args.length))).toBeLessThan(60)
  expect((await locks.read('crowd')).holders).toEqual([])
})

it('a list of keys that each have a crowd is read in parts', async () => {
  const [keys, size] = [60, 30]
  const names = Array.from({ length: keys }, (_, place) => `busy ${place}`)
  await Promise.all(names.map((key) => store.attempt(crowdOf(key, size, shared))))
  const reads = await callsWhile(SCRIPTS.read, async () => {
    const found = new Map<string, number>()
    for await (const { key, holders } of locks.list({ prefix: 'busy' })) found.set(key, holders.length)
    expect(found).toEqual(new Map(names.map((key) => [key, size])))
  })
  expect(mostTexts(reads)).toBeLessThan(MOST_TEXTS)
})

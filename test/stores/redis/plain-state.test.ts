import { createLocks } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { stateName } from '../../../src/stores/redis/plain/names.ts'
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

it('a token rises past every token that the state knows, whatever the clock says', async () => {
  const a = await open()
  await a.release(await a.taken('key'))
  const future = 2 ** 52
  await operator.hset(stateName('key'), 'seq', future)
  const claim = a.claim('key')
  expect(await a.attempt(claim)).toMatchObject({ token: BigInt(future + 1) * 256n })
  await a.store.admin.evict('key', null, false)
  expect(await a.attempt(a.claim('key'))).toMatchObject({ token: BigInt(future + 3) * 256n })
})

it('an eviction of a holder with another library leaves a token behind, which ends', async () => {
  const a = await open()
  await operator.set('key', 'another library')
  expect(await a.store.admin.evict('key', null, false)).toMatchObject({ kind: 'evicted' })
  expect(await operator.hkeys(stateName('key'))).toEqual(['format', 'seq'])
  expect(await operator.pttl(stateName('key'))).toBeGreaterThan(86_400_000)
})

it('a person can read what lies beside the key, and each part of it ends', async () => {
  const [a, b] = [await open(), await open()]
  const holder = await a.taken('order:42', { label: 'api-1', actor: 'request 7', meta: '{"a":1}' })
  const waiter = await b.joined('order:42', { label: 'api-2', ttlMs: 30_000 })
  const number = expect.stringMatching(/^\d+$/)
  const nameOf = (part: string) => `holdfast:plain:${part}{order:42}:order:42`
  expect(await operator.get('order:42')).toBe(holder.id)
  expect(await operator.hgetall(nameOf('state:'))).toEqual({
    format: '2',
    seq: number,
    id: holder.id,
    inbox: expect.any(String),
    label: 'api-1',
    actor: 'request 7',
    meta: '{"a":1}',
    since: number,
  })
  expect(await operator.zrange(nameOf('queue:'), 0, -1, 'WITHSCORES')).toEqual([waiter.id, '1'])
  expect(await operator.zrange(nameOf('alive:'), 0, -1, 'WITHSCORES')).toEqual([waiter.id, number])
  const texts = await operator.hgetall(nameOf('claims:'))
  expect(JSON.parse(texts[waiter.id] as string)).toMatchObject({ label: 'api-2', ttl: 30_000 })
  const names = await operator.keys('holdfast:*')
  expect(names.sort()).toEqual(['', 'alive:', 'claims:', 'queue:', 'state:'].map(nameOf).sort())
  for (const name of names) expect(await operator.pttl(name), name).toBeGreaterThan(25_000)
  await a.release(holder)
  expect(await operator.hgetall(nameOf('state:'))).toEqual({
    format: '2',
    seq: number,
    turn: waiter.id,
    turnEnds: number,
  })
  await b.attempt(waiter)
  await b.release(waiter)
  expect(await operator.hgetall(nameOf('state:'))).toEqual({ format: '2', seq: number })
})

it('a key that others hold, and ours wait for, is listed with its waiters, and seen by the doctor', async () => {
  const locks = createLocks({ store: redis(operator, { format: 'plain', check: false }), label: 'api-1' })
  await operator.set('theirs', 'another library', 'PX', 60_000)
  const acquired = locks.acquire('theirs', { wait: 20_000, meta: { order: 7 } })
  await expect.poll(async () => (await locks.read('theirs')).queue.length).toBe(1)
  const listed = []
  for await (const view of locks.list()) listed.push(view)
  expect(listed).toMatchObject([
    {
      key: 'theirs',
      token: null,
      holders: [{ label: 'not a Holdfast process', heldMs: null }],
      queue: [{ label: 'api-1', meta: '{"order":7}', mode: 'exclusive', weight: 1 }],
    },
  ])
  expect((await locks.doctor({ watch: 0 })).keys).toBe(1)
  await operator.del('theirs')
  await (await acquired).release()
  await locks.close()
})

it('a state of format 1 under the old name is refused, and the new one refuses format 1', async () => {
  const a = await open()
  const oldName = 'holdfast:plain:{key}:key'
  await operator.set(oldName, '1p\u0096', 'PX', 60_000)
  expect(await a.attempt(a.claim('key'))).toMatchObject({ kind: 'refused', reason: 'format' })
  await expect(a.store.admin.read('key')).rejects.toThrow(/format/)
  await expect(a.store.admin.evict('key', null, false)).rejects.toThrow(/format/)
  expect(await operator.keys('*')).toEqual([oldName])
  await operator.del(oldName)
  await a.taken('key')
  expect(await operator.get(oldName)).toBe('2')
  const lives = await Promise.all([oldName, stateName('key')].map((name) => operator.pttl(name)))
  expect(Math.abs((lives[0] as number) - (lives[1] as number))).toBeLessThan(1000)
})

import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Records } from '../../../src/core/store.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import { recordNames } from '../../../src/stores/redis/names.ts'

const server = await startRedis()
const client = new Redis(server.port)
const store = redis(client)
const records = store.records as Records
const always = { kind: 'always' } as const
afterAll(async () => {
  await store.close()
  client.disconnect()
  await server.stop()
})

const soon = { timeout: 5000, interval: 50 }

it('a value ends with its ttl; its version stays, and is small', async () => {
  const [name, version] = recordNames('large')
  const first = await records.write('large', 'x'.repeat(50_000), 1000, always)
  expect(await client.memory('USAGE', name)).toBeGreaterThan(50_000)
  expect(await client.pttl(name)).toBeLessThanOrEqual(1000)
  await expect.poll(() => client.exists(name), soon).toBe(0)
  expect(await client.memory('USAGE', version)).toBeLessThan(200)
  expect(await client.pttl(version)).toBeGreaterThan(86_000_000)
  expect(first).toEqual({ kind: 'written', version: Number(await client.get(version)) })
})

it('an old version never comes back, although its value is gone and the clock went back', async () => {
  const [name, version] = recordNames('rising')
  await records.write('rising', 'a', 100, always)
  await expect.poll(() => client.exists(name), soon).toBe(0)
  // As if the record had been written by a clock that was a year ahead.
  const ahead = Number(await client.get(version)) + 31_536_000_000_000
  await client.set(version, String(ahead), 'KEEPTTL')
  expect(await records.write('rising', 'b', null, always)).toEqual({ kind: 'written', version: ahead + 1 })
  expect(await records.remove('rising', always)).toBe(true)
  expect(await client.exists(name)).toBe(0)
  expect(await records.write('rising', 'c', 60_000, { kind: 'absent' })).toEqual({
    kind: 'written',
    version: ahead + 2,
  })
  await expect(records.take('rising', 1)).rejects.toThrow(/only a whole number/)
})

it('a record that stays leaves nothing beside itself', async () => {
  const [name, version] = recordNames('staying')
  await records.write('staying', '5', 60_000, always)
  await records.write('staying', '5', null, always)
  expect([await client.pttl(name), await client.exists(version)]).toEqual([-1, 0])
  expect(await records.take('staying', 2)).toMatchObject({ kind: 'taken', left: 3 })
  expect(await client.hgetall(name)).toMatchObject({ format: '2', value: '3', expires: '0' })
})

it('records of an earlier build are refused, and that build is refused by these', async () => {
  const [name] = recordNames('earlier')
  await client.set(name, `1r${'1'.padStart(16, '0')}${'0'.repeat(13)}----------old`)
  for (const call of [
    () => records.read('earlier'),
    () => records.write('earlier', 'new', null, always),
    () => records.remove('earlier', always),
    () => records.take('earlier', 1),
  ])
    await expect(call()).rejects.toThrow(/unknown format/)
  expect(await client.get(name)).toMatch(/old$/)
  await records.write('later', 'new', null, always)
  // An earlier build reads with GET.
  await expect(client.get(recordNames('later')[0])).rejects.toThrow(/WRONGTYPE/)
})

import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocks, StaleTokenError } from 'holdfast'
import { fencingToken, memoryGuard, redisGuard, updateFencedPg } from 'holdfast/guard'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { failure } from '../core/support.ts'

const server = await startRedis()
afterAll(() => server.stop())

test('in memory: a lower token is refused, the same one is not', () => {
  const guard = memoryGuard({ maxResources: 2 })
  guard.check('a', 5n)
  guard.check('a', 5n)
  guard.check('b', 1n)
  expect(() => guard.check('a', 4n)).toThrow(StaleTokenError)
  expect(() => guard.check('a', 4n)).toThrow('a has seen token 5; a write with token 4 comes too late')
  expect(() => guard.check('a', null)).toThrow(/^token must be a bigint/)
  guard.check('c', 1n)
  guard.check('a', 0n)
})

test.each(['ioredis', 'node-redis'])('in Redis with %s: compared and written in one step', async (name) => {
  const reader = new Redis(server.port)
  onTestFinished(() => reader.disconnect())
  const client = name === 'ioredis' ? reader : await nodeRedis()
  const guard = redisGuard(client)
  const key = `${name} {tag} value`
  await guard.set(key, 'first', 9_007_199_254_740_993n)
  const late = await failure(guard.set(key, 'late', 9_007_199_254_740_992n))
  expect(late).toMatchObject({ code: 'STALE_TOKEN' })
  expect(late.message).toMatch('has seen token 9007199254740993; a write with token 9007199254740992')
  expect(await reader.get(key)).toBe('first')
  await guard.set(key, 'second', 9_223_372_036_854_775_807n, { ttlMs: 60_000 })
  expect([await reader.get(key), (await reader.pttl(key)) > 0]).toEqual(['second', true])
  await guard.check('elsewhere', 7n)
  expect((await failure(guard.check('elsewhere', 6n))).code).toBe('STALE_TOKEN')
})

test('over HTTP: 412 for a stale token, 428 without one, 400 for what is no token', async () => {
  await using locks = createLocks()
  const old = await locks.acquire('doc')
  await old.release()
  const newer = await locks.acquire('doc')
  const check = fencingToken(memoryGuard())
  const http = createServer((request, response) =>
    check(request, response, (error) => {
      response.statusCode = error === undefined ? 200 : 500
      response.end()
    }),
  )
  onTestFinished(() => void http.close())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const put = (...tokens: unknown[]): Promise<{ status: number; detail?: string }> =>
    new Promise((resolve, reject) => {
      const options = { port, path: '/doc?x', method: 'PUT', agent: false }
      const headers = tokens.length === 0 ? {} : { 'Fencing-Token': tokens.map(String) }
      request({ ...options, headers }, async (response) => {
        const body = (await response.toArray()).join('')
        resolve({ status: response.statusCode ?? 0, ...(body !== '' && JSON.parse(body)) })
      })
        .on('error', reject)
        .end()
    })
  const ok = { status: 200 }
  expect([await put(newer.token), await put(newer.token)]).toEqual([ok, ok])
  expect(await put(old.token)).toMatchObject({ status: 412, detail: expect.stringContaining('too late') })
  expect(await put()).toMatchObject({ status: 428, detail: 'Fencing-Token is missing' })
  for (const wrong of [
    '-1',
    'abc',
    '',
    '1.5',
    '0x1',
    '9223372036854775808',
    '9999999999999999999',
    '9'.repeat(40),
  ])
    expect(await put(wrong), wrong).toMatchObject({
      status: 400,
      detail: 'Fencing-Token must be one whole number from 0 to 9223372036854775807',
    })
  expect(await put(newer.token, newer.token)).toMatchObject({ status: 400 })
  expect(await put('9223372036854775807')).toEqual(ok)
  await newer.release()
})

test('names that do not belong into a statement are refused', async () => {
  const client = { query: () => Promise.reject(new Error('must not be asked')) }
  const update = { table: 'stock', where: { id: 1 }, set: { left: 2 }, token: 1n }
  for (const [wrong, argument] of [
    [{ ...update, table: 'stock; drop table x' }, 'table'],
    [{ ...update, where: { 'id" = 1 --': 1 } }, 'where'],
    [{ ...update, where: {} }, 'where'],
    [{ ...update, set: { 'a b': 1 } }, 'set'],
    [{ ...update, fence: '' }, 'fence'],
    [{ ...update, token: null }, 'token'],
  ] as const) {
    expect(await failure(updateFencedPg(client, wrong)), argument).toMatchObject({ argument })
  }
})

async function nodeRedis() {
  const client = createClient({ url: server.url })
  await client.connect()
  onTestFinished(() => client.destroy())
  return client
}

import { connect, createLocks, type Locks, type Store } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { quorumName } from '../../../src/stores/quorum/redis/names.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { stateName } from '../../../src/stores/redis/plain/names.ts'

const MANY = 200_000
/** Far less than it takes to look at all of them. */
const CALL_TIMEOUT_MS = 500
const SOME = 10_000
/** A cursor brings about 500 names at once. */
const KEYS_PER_PAGE = 1000

const server = await startRedis()
const operator = new Redis(server.port)
const opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close()))
  await operator.flushall()
})
afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

/** So many locks that were released, or keys of others that `copyOf` names, beside one that is held. */
async function leave(
  locks: Locks,
  nameOf: (key: string) => string,
  count: number,
  copyOf = nameOf,
): Promise<void> {
  opened.push(locks)
  await locks.using('free', () => {})
  const copy = `for index = 1, ARGV[2] do redis.call('COPY', KEYS[1], (string.gsub(ARGV[1], '#', index))) end`
  await operator.eval(copy, 1, nameOf('free'), copyOf('free #'), count)
  await locks.acquire('held')
}

it('a list goes on past very many free keys, for longer than a call may take', async () => {
  const locks = await connect(server.url, { callTimeout: CALL_TIMEOUT_MS })
  await leave(locks, lockName, MANY)
  const keys: string[] = []
  for await (const { key } of locks.list()) keys.push(key)
  expect(keys).toEqual(['held'])
})

const list = (store: Store, onPage: () => void) => store.admin.list('', onPage)
const inspect = (store: Store, onPage: () => void) =>
  store.admin.inspect?.({ foreign: [], deadForMs: 0, values: false }, onPage) ?? expect.fail()
const foreign = (key: string) => `of somebody else: ${key}`

it.each([
  ['list', 'redis', list, redis(operator, { check: false }), lockName, lockName],
  ['doctor', 'redis', inspect, redis(operator, { check: false }), lockName, lockName],
  ['list', 'plain', list, redis(operator, { check: false, format: 'plain' }), stateName, stateName],
  ['list', 'quorum', list, quorum([operator]), quorumName, quorumName],
  ['list', 'redis among keys of others', list, redis(operator, { check: false }), lockName, foreign],
  ['list', 'quorum among keys of others', list, quorum([operator]), quorumName, foreign],
] as const)('%s, %s: each page has a deadline for itself', async (_, __, look, store, nameOf, copyOf) => {
  await leave(createLocks({ store }), nameOf, SOME, copyOf)
  let pages = 0
  for await (const _ of look(store, () => pages++));
  expect(pages).toBeGreaterThanOrEqual(SOME / KEYS_PER_PAGE)
})

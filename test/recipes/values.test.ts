import { runInNewContext } from 'node:vm'
import { connect, createLocks, type Locks } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { packed, unpacked } from '../../src/recipes/values.ts'
import { failure } from '../core/support.ts'

const LARGE = 1_000_000
const DAY = new Date('2024-02-29T12:34:56.789Z')

const VALUES: readonly unknown[] = [
  undefined,
  null,
  'text',
  -1.5,
  [1, [2], {}],
  { a: { b: [null, 'c'] } },
  -0,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  12345678901234567890n,
  DAY,
  new Date(Number.NaN),
  [undefined, 1],
  new Map<unknown, unknown>([
    ['at', DAY],
    [{ id: 1n }, new Set([new Map(), undefined])],
  ]),
  { paid: { at: DAY, cents: 5n }, tags: new Set(['a']) },
  { $date: 'not one', deep: [{ $date: 'nor this' }, { $$bigint: DAY }] },
  [{ $undefined: true }],
  JSON.parse('{"__proto__":{"x":1},"at":1}'),
  [JSON.parse('{"__proto__":{"x":1}}'), DAY],
]

test('every value comes back as it was', () => {
  for (const value of VALUES) expect(unpacked(packed('value', value, LARGE))).toStrictEqual(value)
})

test('arrays of another realm are arrays', () => {
  const foreign = runInNewContext('[1, [2, { a: 3 }]]')
  expect(foreign).not.toBeInstanceOf(Array)
  expect(unpacked(packed('value', foreign, LARGE))).toStrictEqual([1, [2, { a: 3 }]])
})

test('plain data is JSON that a person, and an older version, can read', () => {
  expect(packed('value', { a: [1, 'b', null], gone: undefined }, LARGE)).toBe('{"value":{"a":[1,"b",null]}}')
  expect(packed('value', { at: DAY, n: 5n }, LARGE)).toBe(
    '{"marked":{"at":{"$date":"2024-02-29T12:34:56.789Z"},"n":{"$bigint":"5"}}}',
  )
})

test('a value that meets itself beside, not inside, itself is kept', () => {
  const shared = { a: 1 }
  expect(unpacked(packed('value', [shared, { shared }], LARGE))).toEqual([shared, { shared }])
})

test('a value that would come back as something else is refused with its path', () => {
  class Decimal {}
  class Dates extends Map {}
  class Rows extends Array {}
  for (const [value, problem] of [
    [{ items: [{ price: new Decimal() }] }, 'items[0].price is an instance of Decimal'],
    [new Dates(), 'it is an instance of Dates'],
    [Buffer.from('x'), 'it is an instance of Buffer'],
    [new Set([() => 1]), '[0] is a function'],
    [{ found: Rows.of(1, 2) }, 'found is an instance of Rows'],
    [Object.setPrototypeOf([], null), 'it is an instance of a class'],
    [/b/.exec('abc'), 'it is an array with the property "index"'],
  ])
    expect(() => packed('value', value, LARGE)).toThrow(`value must be plain data, but ${problem}`)
})

const STORES: Record<string, () => Promise<Locks>> = {
  memory: async () => createLocks(),
  redis: async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    return connect(server.url)
  },
}

describe.each(Object.entries(STORES))('on %s', (_, open) => {
  async function opened(): Promise<Locks> {
    const locks = await open()
    onTestFinished(() => locks.close())
    return locks
  }
  const order = { at: DAY, cents: 5n, lines: new Map([['a', 1]]) }

  test('`once`, `cached` and `update` give back the types that they were given', async () => {
    const locks = await opened()
    for (let call = 0; call < 2; call++) {
      expect(await locks.once('x', () => order)).toStrictEqual(order)
      expect(await locks.cached('x', { ttl: '10s', local: 0 }, () => order)).toStrictEqual(order)
    }
    await locks.update('x', () => order)
    expect(await locks.update('x', () => undefined)).toStrictEqual(order)
  })

  test('a lease lost during the work loses no result', async () => {
    const locks = await opened()
    const evicted = async () => {
      await locks.evict('once:x')
      return 'done'
    }
    expect(await locks.once('x', { onDuplicate: 'replay' }, evicted)).toBe('done')
    expect(await locks.once('x', { onDuplicate: 'replay' }, () => 'again')).toBe('done')
  })

  test('a value that cannot be kept is refused by `cached`, and work with one runs once', async () => {
    const locks = await opened()
    const refused = await failure(locks.cached('x', { ttl: '10s' }, () => ({ at: new URL('http://x') })))
    expect(refused.message).toBe('the loaded value must be plain data, but at is an instance of URL')
    let runs = 0
    const work = () => new URL(`http://${++runs}`)
    expect((await locks.once('y', work)).href).toBe('http://0.0.0.1/')
    expect((await failure(locks.once('y', work))).code).toBe('INVALID_ARGUMENT')
    expect(runs).toBe(1)
  })
})

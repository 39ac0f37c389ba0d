import { createLocks, InvalidArgumentError, LockError, UnsupportedError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { afterAll, describe, expect, test } from 'vitest'
import { failure } from './support.ts'

const locks = createLocks()
afterAll(() => locks.close())

const BAD_NUMBERS = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  -0,
  1.5,
  2 ** 53,
  1e300,
]
const BAD_TEXTS = ['', '10', 's', '1 s', '-1s', '1.2345ms', '1e3s', '10 sec', '9999999999999999h', 'Infinity']
const BAD_OTHERS = [null, true, {}, [], 10n]

describe('a bad value is refused by name, before anything reaches the store', () => {
  test.each([...BAD_NUMBERS, 0, 9, 86_400_001, ...BAD_TEXTS, '9ms', '25h', ...BAD_OTHERS])(
    'ttl %s',
    async (ttl) => {
      expect(() => createLocks({ ttl: ttl as number })).toThrow(/^ttl must /)
      const error = await failure(locks.acquire('a', { ttl: ttl as number }))
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error).toMatchObject({ argument: 'ttl', code: 'INVALID_ARGUMENT' })
    },
  )

  test.each([Number.NaN, Number.NEGATIVE_INFINITY, -1, -0, 1.5, 2 ** 53, ...BAD_TEXTS, ...BAD_OTHERS])(
    'wait %s',
    async (wait) => {
      expect(await failure(locks.acquire('a', { wait: wait as number }))).toMatchObject({ argument: 'wait' })
    },
  )

  test.each([
    ['maxHold', { maxHold: 0 }],
    ['retry.spin', { retry: { spin: 0 } }],
    ['retry.jitter', { retry: { spin: 5, jitter: 2 } }],
    ['retry', { retry: 'spin' }],
    ['renew', { renew: 'yes' }],
    ['signal', { signal: {} }],
    ['owner', { owner: '' }],
    ['owner', { owner: 'x'.repeat(257) }],
    ['actor', { actor: '\ud800' }],
    ['meta', { meta: 'x'.repeat(3000) }],
    ['meta', { meta: () => {} }],
    ['meta', { meta: 1n }],
    ['release', { release: 'later' }],
    ['reentrant', { reentrant: 1 }],
  ])('%s %o', async (argument, options) => {
    expect(await failure(locks.acquire('a', options as object))).toMatchObject({ argument })
  })

  test.each(['', 'x'.repeat(513), 'é'.repeat(257), 'a\0b', '\ud800', 7, null, undefined])(
    'key %j',
    async (key) => {
      expect(await failure(locks.acquire(key as string))).toMatchObject({ argument: 'key' })
      expect(() => locks.mutex(key as string)).toThrow(/^key must /)
      expect(await failure(locks.read(key as string))).toMatchObject({ argument: 'key' })
    },
  )

  test.each([0, -1, 1.5, Number.NaN, 1_000_001, '5'])('limit %s', (limit) => {
    expect(() => locks.semaphore('s', { limit: limit as number })).toThrow(/^limit must /)
  })

  test.each([0, 6, 1.5, '1'])('weight %s of 5', async (weight) => {
    const acquiring = locks.semaphore('s', { limit: 5 }).acquire({ weight: weight as number })
    expect(await failure(acquiring)).toMatchObject({ argument: 'weight' })
  })

  test('work that is not a function, keys that are no list, a key named twice', async () => {
    expect(await failure(locks.using('a', 5 as never))).toMatchObject({ argument: 'work' })
    expect(await failure(locks.all([]))).toMatchObject({ argument: 'keys' })
    expect(await failure(locks.all(['a', 'b', 'a']))).toMatchObject({ argument: 'keys' })
    expect(await failure(locks.evict('a', { token: 5 as never }))).toMatchObject({ argument: 'token' })
  })
})

test('durations are read as they are written', async () => {
  for (const [text, ms] of [
    ['250ms', 250],
    ['10s', 10_000],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    [1234, 1234],
  ] as const) {
    await using lease = await locks.acquire('durations', { ttl: text })
    expect(Math.round(lease.remainingMs() / 100) * 100).toBeCloseTo(
      Math.round((ms - Math.ceil(ms * 0.01) - 2) / 100) * 100,
      -2,
    )
  }
})

test('the longest ttl can be raised, up to what every store can count', async () => {
  await using raised = createLocks({ maxTtl: '500h' })
  await (await raised.acquire('a', { ttl: '499h' })).release()
  expect(() => createLocks({ maxTtl: 2 ** 31 })).toThrow(/^maxTtl must /)
})

test('a key of 512 bytes of any well-formed text is allowed, with the prefix counted in', async () => {
  for (const key of [
    'x'.repeat(512),
    '锁'.repeat(170),
    '🔒'.repeat(128),
    ' ',
    '{a}',
    '\t\n',
    '../..',
    "'; drop table locks",
  ]) {
    expect(await locks.using(key, async (lease) => lease.key)).toBe(key)
  }
  await using prefixed = createLocks({ prefix: 'shop:' })
  expect(await failure(prefixed.acquire('x'.repeat(512)))).toMatchObject({ argument: 'key' })
})

test('a prefix is put before the key in the store and never shown to the user', async () => {
  const store = memory()
  await using shop = createLocks({ store, prefix: 'shop:' })
  const lease = await shop.acquire('a')
  expect(lease.key).toBe('a')
  expect((await shop.read('a')).key).toBe('a')
  expect((await store.admin.read('shop:a')).holders).toHaveLength(1)
  const listed: string[] = []
  for await (const { key } of shop.list()) listed.push(key)
  expect(listed).toEqual(['a'])
})

test('requireFencing refuses a store without ordered tokens, at construction', () => {
  const store = memory()
  const unfenced = { ...store, traits: { ...store.traits, name: 'plain', fencing: 'none' as const } }
  expect(() => createLocks({ store: unfenced, requireFencing: true })).toThrow(UnsupportedError)
  expect(() => createLocks({ store: unfenced, requireFencing: true })).toThrow(/plain/)
})

test('a mode that the store has not is refused with the reason', async () => {
  const store = memory()
  await using plain = createLocks({ store: { ...store, traits: { ...store.traits, modes: ['exclusive'] } } })
  const error = await failure(plain.rw('a').read.acquire())
  expect(error).toBeInstanceOf(LockError)
  expect(error.code).toBe('UNSUPPORTED')
})

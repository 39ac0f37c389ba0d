import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { expect, test } from 'vitest'
import type { Records } from '../../src/core/store.ts'
import { failure, Scene } from '../core/support.ts'

test('runs once; a caller during the run waits, a later one gets the stored result', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let runs = 0
  const work = async () => {
    runs++
    await a.locks.using(
      'elsewhere',
      () => new Promise<void>((resolve) => scene.runtime.setTimer(resolve, 60_000, false)),
    )
    return { paid: 42 }
  }
  const both = Promise.all([
    a.locks.once('pay 1', { wait: '5m' }, work),
    b.locks.once('pay 1', { wait: '5m' }, work),
  ])
  expect(await scene.runtime.until(both)).toEqual([{ paid: 42 }, { paid: 42 }])
  expect(await scene.runtime.until(b.locks.once('pay 1', work))).toEqual({ paid: 42 })
  expect(runs).toBe(1)
})

test('a result of undefined is a result', async () => {
  await using locks = createLocks()
  let runs = 0
  for (let call = 0; call < 3; call++) expect(await locks.once('x', () => void runs++)).toBeUndefined()
  expect(runs).toBe(1)
})

test('a failure leaves no mark', async () => {
  await using locks = createLocks()
  await expect(locks.once('x', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
  expect(await locks.once('x', () => 'second')).toBe('second')
})

test('the result is kept for its ttl', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  let runs = 0
  await scene.runtime.until(locks.once('x', { ttl: '1h' }, () => ++runs))
  await scene.runtime.advance(3_599_000)
  expect(await scene.runtime.until(locks.once('x', { ttl: '1h' }, () => ++runs))).toBe(1)
  await scene.runtime.advance(2000)
  expect(await scene.runtime.until(locks.once('x', { ttl: '1h' }, () => ++runs))).toBe(2)
})

test('duplicates are replayed, skipped or refused as asked', async () => {
  await using locks = createLocks()
  const release = deferred()
  const running = locks.once('x', () => release.promise)
  for (const onDuplicate of ['replay', 'error'] as const) {
    expect((await failure(locks.once('x', { onDuplicate }, () => 'again'))).code).toBe('CONFLICT')
  }
  expect(await locks.once('x', { onDuplicate: 'skip' }, () => 'again')).toBeUndefined()
  release.resolve('done')
  expect(await running).toBe('done')
  expect(await locks.once('x', { onDuplicate: 'replay' }, () => 'again')).toBe('done')
  expect(await locks.once('x', { onDuplicate: 'skip' }, () => 'again')).toBeUndefined()
  expect((await failure(locks.once('x', { onDuplicate: 'error' }, () => 'again'))).code).toBe('CONFLICT')
})

test('work whose lease was lost gets its own result, and writes none over that of another', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let resume: (value: string) => void = () => {}
  const late = a.locks.once('x', () => new Promise<string>((resolve) => (resume = resolve)))
  await scene.runtime.drain()
  await b.locks.evict('once:x')
  expect(await scene.runtime.until(b.locks.once('x', () => 'of b'))).toBe('of b')
  resume('of a')
  expect(await scene.runtime.until(late)).toBe('of a')
  expect(await scene.runtime.until(a.locks.once('x', () => 'again'))).toBe('of b')
})

test.each(['wait', 'replay'] as const)(
  'a lease lost during the work loses no result (%s)',
  async (onDuplicate) => {
    const scene = new Scene()
    const [a, b] = [scene.party(), scene.party()]
    const got = a.locks.once('x', { onDuplicate }, async () => {
      await b.locks.evict('once:x')
      return 'done'
    })
    expect(await scene.runtime.until(got)).toBe('done')
    expect(await scene.runtime.until(b.locks.once('x', () => 'again'))).toBe('done')
  },
)

test('of two that ran after a lost lease, the first result stays', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const [first, second] = [deferred(), deferred()]
  const [ofA, ofB] = [a.locks.once('x', () => first.promise), b.locks.once('x', () => second.promise)]
  await scene.runtime.drain()
  await b.locks.evict('once:x')
  await scene.runtime.advance(2000)
  first.resolve('of a')
  expect(await scene.runtime.until(ofA)).toBe('of a')
  second.resolve('of b')
  expect(await scene.runtime.until(ofB)).toBe('of b')
  expect(await scene.runtime.until(b.locks.once('x', () => 'again'))).toBe('of a')
})

test('a result outlasts a store that is gone for longer than the lease lives', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let runs = 0
  const work = () => {
    runs++
    a.faults.cut()
    return 'done'
  }
  expect(await scene.runtime.until(a.locks.once('x', work)), 'the caller is not told of it').toBe('done')
  await scene.runtime.advance(60_000)
  a.faults.heal()
  await scene.runtime.advance(10_000)
  expect(await scene.runtime.until(b.locks.once('x', work))).toBe('done')
  expect(runs).toBe(1)
})

test('the mark of finished work is sent again when the store does not answer', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  let runs = 0
  const work = () => {
    runs++
    faults.next('records', { kind: 'lose request' }, { kind: 'lose reply' })
    return 'done'
  }
  expect(await scene.runtime.until(locks.once('x', work))).toBe('done')
  expect(await scene.runtime.until(locks.once('x', work))).toBe('done')
  expect(runs).toBe(1)
})

test.each<[string, () => unknown, RegExp]>([
  ['a function', () => () => 1, /must be plain data, but it is a function/],
  ['a symbol', () => ({ a: [Symbol('s')] }), /must be plain data, but a\[0\] is a symbol/],
  ['an object of a class', () => ({ at: new URL('http://x') }), /but at is an instance of URL/],
  ['an object that contains itself', cyclic, /but self is an object that contains itself/],
  ['a text that is too long', () => 'y'.repeat(70_000), /must have at most 65536 bytes as JSON, not 70012/],
  ['a getter that throws', thrower, /cannot be read: Error: broken getter/],
])('work with a result that cannot be kept is done all the same: %s', async (_, make, why) => {
  await using locks = createLocks()
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  const result = make()
  let runs = 0
  const work = () => {
    runs++
    return result
  }
  expect(await locks.once('x', work), 'the first caller has it').toBe(result)
  expect((await warned).message).toMatch(why)
  const again = await failure(locks.once('x', work))
  expect(again).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'the result of the work' })
  expect(again.message).toMatch(why)
  expect(again.message).toMatch(/"x" was done, and is not run again$/)
  expect(await locks.once('x', { onDuplicate: 'skip' }, work)).toBeUndefined()
  expect(runs).toBe(1)
})

test('work whose result the store refuses is done all the same', async () => {
  const store = memory()
  const { write } = store.records as Records
  const refusing = (...args: Parameters<Records['write']>) => {
    if (args[1].length > 1000) throw new Error('too large for this store')
    return write(...args)
  }
  await using locks = createLocks({
    store: { ...store, records: { ...store.records, write: refusing } as Records },
  })
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  let runs = 0
  const work = () => `${++runs}`.repeat(2000)
  expect(await locks.once('x', work)).toHaveLength(2000)
  expect((await warned).message).toMatch(/refused by the store: .*too large for this store/)
  expect((await failure(locks.once('x', work))).message).toMatch(/too large for this store/)
  expect(runs).toBe(1)
})

test('bad input is named', async () => {
  await using locks = createLocks()
  expect((await failure(locks.once('', () => 1))).message).toMatch(/^id must be a text/)
  expect((await failure(locks.once('x', { onDuplicate: 'maybe' as never }, () => 1))).message).toMatch(
    /onDuplicate/,
  )
  expect((await failure(locks.once('x', undefined as never))).message).toMatch(/work must be a function/)
  expect(await locks.once('x', () => 'a refused call leaves no mark')).toMatch(/no mark/)
})

test('errors of the work itself are its own', async () => {
  await using locks = createLocks()
  const busy = await locks.acquire('elsewhere')
  for (const onDuplicate of ['replay', 'skip', 'error'] as const) {
    const nested = locks.once('x', { onDuplicate }, () => locks.using('elsewhere', { wait: 0 }, () => 1))
    expect((await failure(nested)).code).toBe('LOCK_TIMEOUT')
  }
  await busy.release()
})

test('a function can be made idempotent', async () => {
  await using locks = createLocks()
  const seen: string[] = []
  const charge = locks.idempotent(
    (order: string) => `charge ${order}`,
    async (order: string) => seen.push(order),
  )
  expect([await charge('a'), await charge('a'), await charge('b')]).toEqual([1, 1, 2])
})

function deferred() {
  let resolve: (value: unknown) => void = () => {}
  const promise = new Promise<unknown>((done) => (resolve = done))
  return { promise, resolve }
}

function cyclic(): unknown {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

function thrower(): unknown {
  return {
    get broken() {
      throw new Error('broken getter')
    },
  }
}

import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

test('runs once; who comes while it runs waits, who comes later gets the stored result', async () => {
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

test('work whose lease was lost writes no result, and another may run', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let resume: (value: string) => void = () => {}
  const lost = failure(a.locks.once('x', () => new Promise<string>((resolve) => (resume = resolve))))
  await scene.runtime.drain()
  await b.locks.evict('once:x')
  expect(await scene.runtime.until(b.locks.once('x', () => 'of b'))).toBe('of b')
  resume('late')
  expect((await scene.runtime.until(lost)).code).toBe('LEASE_LOST')
  expect(await scene.runtime.until(a.locks.once('x', () => 'again'))).toBe('of b')
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

test('bad input is named', async () => {
  await using locks = createLocks()
  expect((await failure(locks.once('', () => 1))).message).toMatch(/^id must be a text/)
  expect((await failure(locks.once('x', { maxResultBytes: 100 }, () => 'y'.repeat(200)))).message).toMatch(
    /the result of the work must have at most 100 bytes as JSON, not 212/,
  )
  expect((await failure(locks.once('z', () => 10n))).message).toMatch(/cannot be written as JSON/)
  expect((await failure(locks.once('x', { onDuplicate: 'maybe' as never }, () => 1))).message).toMatch(
    /onDuplicate/,
  )
  expect((await failure(locks.once('x', undefined as never))).message).toMatch(/work must be a function/)
  expect(await locks.once('x', () => 'a refused result leaves no mark')).toMatch(/no mark/)
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

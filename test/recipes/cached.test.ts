import { createLocks, LeaseLostError } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

function sleeper(scene: Scene) {
  return (ms: number) => new Promise<void>((resolve) => scene.runtime.setTimer(resolve, ms, false))
}

test('a stampede of many callers in several processes loads once', async () => {
  const scene = new Scene()
  const parties = Array.from({ length: 8 }, () => scene.party())
  const sleep = sleeper(scene)
  let loads = 0
  const load = async () => {
    loads++
    await sleep(500)
    return { price: 42 }
  }
  const calls = Array.from({ length: 1000 }, (_, index) =>
    (parties[index % 8] as (typeof parties)[0]).locks.cached('price', { ttl: '30s' }, load),
  )
  const values = await scene.runtime.until(Promise.all(calls))
  expect(values).toHaveLength(1000)
  for (const value of values) expect(value).toEqual({ price: 42 })
  expect(loads).toBe(1)
})

test('a copy of this process comes first, then the store, then the loader', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let loads = 0
  const get = (party: typeof a) =>
    scene.runtime.until(party.locks.cached('x', { ttl: '10s', local: '1s' }, () => ++loads))
  expect(await get(a)).toBe(1)
  const claims = a.calls.attempt
  expect(await get(a)).toBe(1)
  expect(await get(b)).toBe(1)
  expect([a.calls.attempt, b.calls.attempt], 'neither a copy nor a shared value takes a lock').toEqual([
    claims,
    0,
  ])
  await scene.runtime.advance(10_001)
  expect(await get(b)).toBe(2)
  expect(await get(a)).toBe(2)
})

test('a copy of this process is not served after a sleep of the machine that outlasts it', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  let loads = 0
  const get = () => scene.runtime.until(locks.cached('x', { ttl: '1h', local: '1h' }, () => ++loads))
  expect(await get()).toBe(1)
  // Suspend: the monotonic clock stands still.
  scene.runtime.shiftWall(3_599_000)
  await locks.records?.remove('cached:x', { kind: 'always' })
  expect(await get()).toBe(1)
  scene.runtime.shiftWall(1000)
  expect(await get()).toBe(2)
  // A wall clock that is set back lengthens nothing.
  scene.runtime.shiftWall(-3_600_000)
  await locks.records?.remove('cached:x', { kind: 'always' })
  await scene.runtime.advance(3_600_000)
  expect(await get()).toBe(3)
})

test('a copy counts from when the store was asked for it', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let loads = 0
  const get = ({ locks }: typeof a) =>
    scene.runtime.until(locks.cached('x', { ttl: '10s', local: '1s' }, () => ++loads))
  expect(await get(a)).toBe(1)
  b.faults.next('records', { kind: 'delay', ms: 600 })
  expect(await get(b)).toBe(1)
  await a.locks.records?.remove('cached:x', { kind: 'always' })
  await scene.runtime.advance(500)
  expect(await get(b)).toBe(2)
})

test('while an old value may be served, one process loads the new one in the background', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const sleep = sleeper(scene)
  let loads = 0
  const get = (party: typeof a) =>
    party.locks.cached('x', { ttl: '10s', local: 0, stale: '1m' }, async () => {
      await sleep(100)
      return ++loads
    })
  expect(await scene.runtime.until(get(a))).toBe(1)
  await scene.runtime.advance(10_001)
  const startedMs = scene.runtime.nowMs()
  expect(await Promise.all([get(a), get(b), get(a), get(b)])).toEqual([1, 1, 1, 1])
  expect(scene.runtime.nowMs(), 'nobody waits for the loader').toBe(startedMs)
  await scene.runtime.advance(1000)
  expect(loads).toBe(2)
  expect(await get(b)).toBe(2)
})

test('a failed background load is reported, and the stale value is served', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const told: unknown[] = []
  const get = (load: () => Promise<string>) =>
    locks.cached(
      'x',
      { ttl: '10s', local: 0, stale: '1m', onRefreshError: (error) => told.push(error) },
      load,
    )
  expect(await scene.runtime.until(get(async () => 'old'))).toBe('old')
  await scene.runtime.advance(10_001)
  const down = new Error('down')
  expect(await get(() => Promise.reject(down))).toBe('old')
  await scene.runtime.advance(1000)
  expect(told).toEqual([down])
})

test('a loader that fails fails its callers, and the next one loads again', async () => {
  await using locks = createLocks()
  const fail = () => locks.cached('x', { ttl: '10s' }, () => Promise.reject(new Error('down')))
  expect(await Promise.all([failure(fail()), failure(fail())])).toMatchObject([
    { message: 'down' },
    { message: 'down' },
  ])
  expect(await locks.cached('x', { ttl: '10s' }, () => null)).toBeNull()
  expect(await locks.cached('x', { ttl: '10s' }, () => 'not asked')).toBeNull()
})

test('a value that was loaded under a lost lease is returned, not kept', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const got = a.locks.cached('x', { ttl: '10s' }, async () => {
    await b.locks.evict('cached:x')
    return 'loaded'
  })
  expect(await scene.runtime.until(got)).toBe('loaded')
  expect(await scene.runtime.until(b.locks.cached('x', { ttl: '10s' }, () => 'of b'))).toBe('of b')
})

test("a loader's own error is never taken for the loss of our lease", async () => {
  await using locks = createLocks()
  const own = new LeaseLostError('elsewhere', 'the loader works under a lock, too')
  const load = () => Promise.reject(own)
  expect(await failure(locks.cached('x', { ttl: '10s' }, load))).toBe(own)
})

test('a key that reads like the refresh of another is a key of its own', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const sleep = sleeper(scene)
  const get = (key: string, value: string) =>
    locks.cached(key, { ttl: '10s', local: 0, stale: '1m' }, async () => {
      await sleep(100)
      return value
    })
  expect(await scene.runtime.until(get('foo', 'foo 1'))).toBe('foo 1')
  await scene.runtime.advance(10_001)
  expect(await get('foo', 'foo 2'), 'refreshed in the background').toBe('foo 1')
  expect(await scene.runtime.until(get('refresh foo', 'another'))).toBe('another')
})

test('bad input is named', async () => {
  await using locks = createLocks()
  const get = (options: object) => failure(locks.cached('x', options as never, () => 1))
  expect((await get({})).message).toMatch(/^ttl must/)
  expect((await get({ ttl: '1s', local: '2s' })).message).toMatch(/^local must be from 0 to 1000 ms/)
  expect((await get({ ttl: '1s', stale: -1 })).message).toMatch(/^stale must/)
  expect((await failure(locks.cached('x', { ttl: '1s' }, 5 as never))).message).toMatch(
    /^load must be a function/,
  )
  expect(
    (await failure(locks.cached('y', { ttl: '1s', maxBytes: 10 }, () => 'a long text'))).message,
  ).toMatch(/the loaded value must have at most 10 bytes/)
})

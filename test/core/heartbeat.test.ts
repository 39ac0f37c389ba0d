import { expect, test } from 'vitest'
import { failure, type Party, Scene } from './support.ts'

const many = (count: number) => Array.from({ length: count }, (_, index) => index)

/** A process whose claims are the third of their queues: a heartbeat is all that it sends. */
async function thirdInQueue(scene: Scene, keys: readonly string[]): Promise<Party> {
  const [holder, front, here] = [scene.party(), scene.party(), scene.party()]
  for (const key of keys) {
    await scene.runtime.until(holder.locks.acquire(key))
    front.locks.acquire(key, { wait: '10m' }).catch(() => {})
    front.locks.acquire(key, { wait: '10m', owner: 'another' }).catch(() => {})
  }
  await scene.runtime.advance(1)
  for (const key of keys) here.locks.acquire(key, { ttl: 3000, wait: '10m' }).catch(() => {})
  await scene.runtime.advance(1)
  return here
}

/** When calls of that name fail from now on, and how many claims each carries. */
function failuresOf(call: 'attempt' | 'renew', { runtime }: Scene, { locks }: Party) {
  const failed: { readonly atMs: number; readonly claims: number }[] = []
  locks.on('storeFailed', (event) => {
    if (event.call === call) failed.push({ atMs: runtime.nowMs(), claims: event.claims })
  })
  return failed
}

test('a waiter far back keeps its position by renewals alone, in one batch', async () => {
  const scene = new Scene()
  const [holder, front, here] = [scene.party(), scene.party(), scene.party()]
  const keys = many(40).map((n) => `k${n}`)
  for (const key of keys) await scene.runtime.until(holder.locks.acquire(key))
  for (const key of keys) {
    front.locks.acquire(key, { wait: '10m' }).catch(() => {})
    front.locks.acquire(key, { wait: '10m', owner: 'another' }).catch(() => {})
  }
  await scene.runtime.advance(1)
  const waits = keys.map((key) => here.locks.acquire(key, { ttl: 3000, wait: '10m' }))
  await scene.runtime.advance(1)
  const { attempt } = here.calls
  await scene.runtime.advance(30_000)
  expect(here.calls.attempt).toBe(attempt)
  expect(here.calls.renew).toBeGreaterThanOrEqual(28)
  expect(here.calls.renew).toBeLessThan(120)
  for (const key of keys) expect((await here.locks.read(key)).queue).toHaveLength(3)
  await scene.runtime.until(holder.locks.close())
  await scene.runtime.until(front.locks.close())
  for (const lease of await scene.runtime.until(Promise.all(waits))) expect(lease.held).toBe(true)
})

test('a push that was lost is found by the next heartbeat', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  const held = await scene.runtime.until(holder.locks.acquire('a'))
  const wait = here.locks.acquire('a', { ttl: 1500, wait: '1m' })
  await scene.runtime.drain()
  here.faults.notices({ kind: 'drop' })
  here.faults.every('attempt', { kind: 'lose request' })
  await scene.runtime.until(held.release())
  await scene.runtime.advance(600)
  here.faults.heal()
  const lease = await scene.runtime.until(wait)
  expect(lease.held).toBe(true)
  expect(scene.runtime.nowMs()).toBeLessThan(2500)
})

test('a position that the store forgot is claimed again', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  const held = await scene.runtime.until(holder.locks.acquire('a', { ttl: 60_000 }))
  const wait = here.locks.acquire('a', { ttl: 900, wait: '5m' })
  await scene.runtime.drain()
  here.faults.every('renew', { kind: 'lose request' })
  here.faults.every('attempt', { kind: 'lose request' })
  await scene.runtime.advance(3000)
  expect((await holder.locks.read('a')).queue).toEqual([])
  here.faults.heal()
  await scene.runtime.advance(2000)
  expect((await holder.locks.read('a')).queue).toHaveLength(1)
  await scene.runtime.until(held.release())
  expect((await scene.runtime.until(wait)).held).toBe(true)
})

test('a store that is gone while a claim waits is an outage when the wait ends', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  await scene.runtime.until(holder.locks.acquire('a'))
  const wait = failure(here.locks.acquire('a', { ttl: 900, wait: 5000 }))
  await scene.runtime.drain()
  here.faults.every('renew', { kind: 'lose request' })
  here.faults.every('attempt', { kind: 'lose request' })
  expect((await scene.runtime.until(wait)).code).toBe('STORE_UNAVAILABLE')
})

test('nothing is left of a wait that ended: no heartbeat, no timer', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  const held = await scene.runtime.until(holder.locks.acquire('a'))
  const wait = failure(here.locks.acquire('a', { ttl: 900, wait: 1000 }))
  expect((await scene.runtime.until(wait)).code).toBe('LOCK_TIMEOUT')
  const { renew, attempt } = here.calls
  await scene.runtime.advance(10_000)
  expect([here.calls.renew, here.calls.attempt]).toEqual([renew, attempt])
  expect(here.locks.local()).toEqual({ held: 0, waiting: 0 })
  await held.release()
})

test('with thousands of claims at the head of their queues, each attempts less often', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  const keys = many(3000).map((n) => `k${n}`)
  await scene.runtime.until(Promise.all(keys.map((key) => holder.locks.acquire(key, { ttl: '1m' }))))
  for (const key of keys) here.locks.acquire(key, { ttl: '1m', wait: '10m' }).catch(() => {})
  await scene.runtime.advance(10_000)
  const { attempt } = here.calls
  await scene.runtime.advance(10_000)
  expect(here.calls.attempt - attempt).toBeLessThan(6000)
  expect(here.calls.attempt - attempt).toBeGreaterThan(1000)
})

test('of heartbeats that fail, the first is sent again early and the later ones less often than usual', async () => {
  const scene = new Scene()
  const here = await thirdInQueue(scene, ['a'])
  await scene.runtime.advance(30_000)
  const usual = here.calls.renew
  const failed = failuresOf('renew', scene, here)
  here.faults.every('renew', { kind: 'lose request' })
  await scene.runtime.advance(30_000)
  const gaps = failed.slice(1).map(({ atMs }, index) => atMs - (failed[index]?.atMs ?? 0))
  expect(gaps[0]).toBeLessThanOrEqual(450)
  for (const gap of gaps.slice(3)) expect(gap).toBeGreaterThanOrEqual(1000)
  expect(failed.length).toBeLessThan(usual * 0.75)
  here.faults.heal()
  await scene.runtime.advance(3000)
  expect((await here.locks.read('a')).queue).toHaveLength(3)
})

test('heartbeats that failed together are sent again together', async () => {
  const scene = new Scene()
  const here = await thirdInQueue(
    scene,
    many(40).map((n) => `k${n}`),
  )
  await scene.runtime.advance(30_000)
  const usual = here.calls.renew
  const failed = failuresOf('renew', scene, here)
  here.faults.every('renew', { kind: 'lose request' })
  await scene.runtime.advance(30_000)
  expect(failed.length).toBeLessThan(usual)
})

test('with thousands of claims at the head of their queues, each attempts no more often when the store is gone', async () => {
  const scene = new Scene()
  const [holder, here] = [scene.party(), scene.party()]
  const keys = many(3000).map((n) => `k${n}`)
  await scene.runtime.until(Promise.all(keys.map((key) => holder.locks.acquire(key, { ttl: '1m' }))))
  for (const key of keys) here.locks.acquire(key, { ttl: '1m', wait: '10m' }).catch(() => {})
  await scene.runtime.advance(10_000)
  const failed = failuresOf('attempt', scene, here)
  here.faults.every('attempt', { kind: 'lose request' })
  await scene.runtime.advance(40_000)
  const late = failed.filter(({ atMs }) => atMs > scene.runtime.nowMs() - 10_000)
  const claims = late.reduce((sum, call) => sum + call.claims, 0)
  expect(claims).toBeLessThan(6000)
  expect(claims).toBeGreaterThan(1000)
})

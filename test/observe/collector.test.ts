import { expect, test } from 'vitest'
import { createLocks, LockTimeoutError } from '../../src/index.ts'
import { Collector } from '../../src/observe/index.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { Scene } from '../core/support.ts'

test('every way that a wish can end is counted once', async () => {
  await using locks = createLocks({ store: memory() })
  const collector = new Collector()
  collector.watch(locks)
  const lease = await locks.acquire('order:1')
  expect(await locks.tryAcquire('order:1')).toBeNull()
  expect(await locks.rw('order:1').read.tryAcquire()).toBeNull()
  await expect(locks.acquire('order:1', { wait: 5 })).rejects.toThrow(LockTimeoutError)
  const cancel = new AbortController()
  const waiting = locks.acquire('order:1', { signal: cancel.signal })
  const handed = locks.acquire('order:1')
  expect(collector.local()).toEqual({ held: 1, waiting: 2 })
  cancel.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await lease.release()
  await (await handed).release()
  const series = collector.seriesOf('order:1')
  expect(series).toMatchObject({ granted: 2, handedOver: 1, releasedInTime: 2, releasedExpired: 0 })
  expect(series.turnedAway).toEqual({ timeout: 1, busy: 2, cancelled: 1, failed: 0 })
  expect([series.wait.count, series.hold.count]).toEqual([3, 2])
  expect(collector.local()).toEqual({ held: 0, waiting: 0 })
})

test('renewals, losses, queue positions and calls are counted', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const collector = new Collector()
  collector.watch(a.locks)
  collector.watch(b.locks)
  const holder = new Collector()
  holder.watch(a.locks)
  const lease = await scene.runtime.until(a.locks.acquire('k', { ttl: 900 }))
  const waiting = scene.runtime.until(b.locks.acquire('k', { ttl: 900, wait: '1m' }))
  await scene.runtime.advance(1000)
  await scene.runtime.until(a.locks.evict('k', { ask: true }))
  await scene.runtime.until(a.locks.evict('k'))
  const next = await waiting
  expect(lease.held).toBe(false)
  await scene.runtime.until(next.release())
  const series = collector.seriesOf('k')
  expect(series.renewed).toBeGreaterThanOrEqual(2)
  expect(series).toMatchObject({ granted: 2, revoked: 1, releasedInTime: 1 })
  expect(series.lost).toEqual({ deadline: 0, expired: 0, evicted: 1, adopted: 0, closed: 0 })
  expect(series.place.count).toBe(1)
  const renewalsOf = (each: Collector) => each.calls().find(({ labels }) => labels.call === 'renew')
  expect(renewalsOf(holder)?.calls).toBe(series.renewed)
  expect(renewalsOf(holder)?.seconds.count).toBe(series.renewed)
  // The waiter's heartbeats are calls, too, but renew no lease.
  expect(renewalsOf(collector)?.calls).toBeGreaterThan(series.renewed)
})

test('a stall of the event loop is counted, and nothing after the collector was closed', async () => {
  const scene = new Scene()
  const { runtime } = scene
  const { locks } = scene.party()
  const collector = new Collector()
  collector.watch(locks)
  await runtime.until(locks.acquire('k', { ttl: 3000 }))
  runtime.stall(1300)
  await runtime.advance(1)
  expect(collector.stalls).toBe(1)
  expect(collector.stalledSeconds).toBeGreaterThan(0.25)
  collector.close()
  await runtime.until(locks.using('other', async () => {}))
  expect([...collector.series()].map(({ pattern, granted }) => [pattern, granted])).toEqual([['k', 1]])
})

test('two collectors count the same locks, each for itself', async () => {
  await using locks = createLocks()
  const [one, other] = [new Collector(), new Collector()]
  one.watch(locks)
  const stop = other.watch(locks)
  await locks.using('a', async () => {})
  stop()
  await locks.using('a', async () => {})
  expect([one, other].map((each) => each.seriesOf('a').granted)).toEqual([2, 1])
  expect([one, other].map((each) => each.seriesOf('a').releasedInTime)).toEqual([2, 1])
})

import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { stripeOf } from '../../src/recipes/striped.ts'
import { failure, Scene } from '../core/support.ts'

test('an id falls on the same stripe in every version, and ids spread evenly', () => {
  expect(['', 'a', 'order:42', '鍵'].map((id) => stripeOf(id, 16))).toEqual([5, 12, 1, 10])
  const counts = new Array<number>(16).fill(0)
  for (let id = 0; id < 16_000; id++)
    counts[stripeOf(`user ${id}`, 16)] = (counts[stripeOf(`user ${id}`, 16)] ?? 0) + 1
  for (const count of counts) expect(count).toBeGreaterThan(800)
})

test('ids of one stripe exclude each other, ids of two do not', async () => {
  await using locks = createLocks()
  const stripes = locks.striped('stock', 4)
  const same = [...Array(20).keys()].map(String).filter((id) => stripeOf(id, 4) === stripeOf('0', 4))
  const other = [...Array(20).keys()].map(String).find((id) => stripeOf(id, 4) !== stripeOf('0', 4)) as string
  await using _held = await stripes.for('0').acquire()
  expect(await stripes.for(same[1] as string).tryAcquire()).toBeNull()
  const free = await stripes.for(other).tryAcquire()
  expect(free).not.toBeNull()
  await free?.release()
})

test('any takes a free stripe, and waits for the first when none is', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const [mine, others] = [a.locks.striped('s', 3), b.locks.striped('s', 3)]
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise<void>((resolve) => scene.runtime.setTimer(resolve, 100, false))
    inside--
  }
  await scene.runtime.until(
    Promise.all(Array.from({ length: 12 }, (_, index) => (index % 2 ? mine : others).any(work))),
  )
  expect(most).toBe(3)
  await scene.runtime.drain()
  expect(a.locks.local()).toEqual({ held: 0, waiting: 0 })
  expect(b.locks.local()).toEqual({ held: 0, waiting: 0 })
})

test('any gives up after its wait, and what it throws is the timeout or the caller’s reason', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  await scene.runtime.until(a.locks.all(['s:0', 's:1']))
  const stripes = b.locks.striped('s', 2)
  expect((await scene.runtime.until(failure(stripes.any({ wait: 50 }, () => 1)))).code).toBe('LOCK_TIMEOUT')
  const stop = new AbortController()
  const waiting = failure(stripes.any({ signal: stop.signal }, () => 1))
  await scene.runtime.drain()
  stop.abort(new Error('enough'))
  expect((await scene.runtime.until(waiting)).message).toBe('enough')
  expect(() => b.locks.striped('s', 0)).toThrow(/^size must/)
})

test('a stall at the end of the work of any stripe is no loss', async () => {
  const scene = new Scene()
  const { locks } = scene.party({ ttl: '3s' })
  const work = () => {
    scene.runtime.stall(2500)
    return 'done'
  }
  const stripes = locks.striped('s', 2)
  expect(await scene.runtime.until(stripes.any(work))).toBe('done')
})

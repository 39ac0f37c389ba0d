import type { Lease } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

const many = (count: number) => Array.from({ length: count }, (_, index) => index)
const sleep = (scene: Scene, ms: number) =>
  new Promise<void>((resolve) => {
    scene.runtime.setTimer(resolve, ms, false)
  })

test('a process never has more permit claims in the store than the limit admits', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  const pool = locks.semaphore('pool', { limit: 10 })
  let inUse = 0
  let most = 0
  const order: number[] = []
  const task = (n: number) =>
    pool.using(async () => {
      order.push(n)
      most = Math.max(most, ++inUse)
      const view = await locks.read('pool')
      expect(view.holders.length + view.queue.length).toBeLessThanOrEqual(10)
      await sleep(scene, 1)
      inUse--
    })
  await scene.runtime.until(Promise.all(many(1000).map(task)))
  expect(most).toBe(10)
  expect(order).toEqual(many(1000))
  expect(sizes.attempt.reduce((sum, size) => sum + size, 0)).toBeLessThan(60)
})

test('tokens of the holders of one process rise and are never given twice', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const tokens: bigint[] = []
  const pool = locks.semaphore('pool', { limit: 4 })
  const task = () =>
    pool.using(async ({ token }) => {
      tokens.push(token as bigint)
      await sleep(scene, 1)
    })
  await scene.runtime.until(Promise.all(many(1200).map(task)))
  expect(new Set(tokens).size).toBe(1200)
  for (const [index, token] of tokens.entries())
    if (index > 0) expect(token).toBeGreaterThan(tokens[index - 1] as bigint)
})

test('weights are added up: a heavy claim waits for room and is not overtaken by light ones', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const pool = locks.semaphore('pool', { limit: 3 })
  const first = await scene.runtime.until(pool.acquire({ weight: 2 }))
  const order: string[] = []
  const heavy = pool.acquire({ weight: 3 }).then((lease) => {
    order.push('heavy')
    return lease
  })
  const light = pool.acquire({ weight: 1 }).then((lease) => {
    order.push('light')
    return lease
  })
  await scene.runtime.advance(10)
  expect(order).toEqual([])
  await scene.runtime.until(first.release())
  await (await scene.runtime.until(heavy)).release()
  await (await scene.runtime.until(light)).release()
  expect(order).toEqual(['heavy', 'light'])
})

test('while another process waits, permits go to it after a bounded number of handovers', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const served: string[] = []
  const slow = (who: string) => async () => {
    served.push(who)
    await sleep(scene, 2)
  }
  const local = many(60).map(() => here.locks.semaphore('pool', { limit: 2 }).using(slow('here')))
  await scene.runtime.advance(1)
  const remote = there.locks.semaphore('pool', { limit: 2 }).using(slow('there'))
  await scene.runtime.until(Promise.all([...local, remote]))
  expect(served.indexOf('there')).toBeLessThanOrEqual(16)
})

test('a waiter that leaves passes its claim on to the next, and the last one gives it back', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const held = await scene.runtime.until(there.locks.semaphore('pool', { limit: 1 }).acquire())
  const pool = here.locks.semaphore('pool', { limit: 1 })
  const gone = failure(pool.acquire({ wait: 100 }))
  const stays = pool.acquire({ wait: 60_000 })
  await scene.runtime.drain()
  expect((await scene.runtime.until(gone)).code).toBe('LOCK_TIMEOUT')
  expect((await here.locks.read('pool')).queue).toHaveLength(1)
  expect(here.calls.attempt).toBe(1)
  await scene.runtime.until(held.release())
  const lease = await scene.runtime.until(stays)
  const last = failure(pool.acquire({ wait: 100 }))
  expect((await scene.runtime.until(last)).code).toBe('LOCK_TIMEOUT')
  await scene.runtime.until(lease.release())
  const view = await here.locks.read('pool')
  expect([view.holders.length, view.queue.length]).toEqual([0, 0])
})

test('one try on a semaphore that this process has used up says so at once, without a call', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party({ label: 'web:1' })
  const pool = locks.semaphore('pool', { limit: 1 })
  const lease = await scene.runtime.until(pool.acquire())
  expect(await pool.tryAcquire()).toBeNull()
  const error = (await scene.runtime.until(failure(pool.acquire({ wait: 50 })))) as Error & {
    holder?: string
  }
  expect(error.message).toContain('web:1')
  expect(calls.attempt).toBe(1)
  await lease.release()
})

test('a lost permit makes room for the next local waiter', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const pool = locks.semaphore('pool', { limit: 1 })
  const lease = await scene.runtime.until(pool.acquire())
  const next: Promise<Lease> = pool.acquire()
  await locks.evict('pool')
  const granted = await scene.runtime.until(next)
  expect(lease.held).toBe(false)
  expect(granted.held).toBe(true)
})

test('a claim that is refused for good fails each waiter, however many there are', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  await scene.runtime.until(there.locks.semaphore('pool', { limit: 3 }).acquire())
  const pool = here.locks.semaphore('pool', { limit: 2 })
  const errors = await scene.runtime.until(Promise.all(many(5000).map(() => failure(pool.acquire()))))
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['CONFLICT']))
})

test('another limit of the same process is refused by the store, and its own queue goes on', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.semaphore('pool', { limit: 2 }).acquire())
  const other = failure(locks.semaphore('pool', { limit: 3 }).acquire())
  expect((await scene.runtime.until(other)).code).toBe('CONFLICT')
  const second = await scene.runtime.until(locks.semaphore('pool', { limit: 2 }).acquire())
  await Promise.all([lease.release(), second.release()])
  const changed = await scene.runtime.until(locks.semaphore('pool', { limit: 3 }).acquire())
  expect(changed.held).toBe(true)
})

test('closing ends every wait', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  await scene.runtime.until(there.locks.semaphore('pool', { limit: 1 }).acquire())
  const waits = many(20).map(() => failure(here.locks.semaphore('pool', { limit: 1 }).acquire()))
  await scene.runtime.drain()
  await scene.runtime.until(here.locks.close())
  expect(new Set((await Promise.all(waits)).map(({ code }) => code))).toEqual(new Set(['CLOSED']))
  expect((await there.locks.read('pool')).queue).toEqual([])
})

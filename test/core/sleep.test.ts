import { createLocks, type Locks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime, faulty } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { MemoryWorld } from '../../src/stores/memory/world.ts'

/** A machine that sleeps beside one that does not, over a store whose clock goes on. */
function machines() {
  const awake = new FakeRuntime()
  const sleeper = new FakeRuntime(2)
  const world = new MemoryWorld(awake, { offerMs: 1000, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY })
  const way = faulty(memory({ world }), sleeper)
  const locks = createLocks({ store: way, runtime: sleeper, label: 'sleeper' })
  const others = createLocks({ store: memory({ world }), runtime: awake, label: 'awake' })
  onTestFinished(async () => {
    await sleeper.until(locks.close())
    await awake.until(others.close())
  })
  /** Suspend: the time of the world and the wall clock pass, the sleeper's monotonic clock stands still. */
  const sleep = async (ms: number): Promise<void> => {
    way.faults.notices({ kind: 'drop' })
    await awake.advance(ms)
    sleeper.shiftWall(ms)
  }
  return { locks, others, sleeper, awake, faults: way.faults, sleep }
}

async function taken(others: Locks, runtime: FakeRuntime, key: string): Promise<boolean> {
  return (await runtime.until(others.tryAcquire(key))) !== null
}

test('after a sleep, held, assertHeld and remainingMs say no before any timer has run', async () => {
  const { locks, others, sleeper, awake, sleep } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000 }))
  await sleep(20_000)
  expect(await taken(others, awake, 'a')).toBe(true)
  expect(lease.remainingMs()).toBe(0)
  expect(lease.held).toBe(false)
  expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
  await sleeper.advance(1)
  expect(lease.signal.aborted).toBe(true)
})

test('a lease that outlived a short sleep proves itself at once and is held again', async () => {
  const { locks, sleeper, sleep } = machines()
  const stalls: number[] = []
  locks.on('stalled', ({ stalledMs }) => stalls.push(stalledMs))
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000 }))
  await sleep(2000)
  expect(lease.held).toBe(false)
  await sleeper.advance(1)
  expect(lease.held).toBe(true)
  expect(stalls).toEqual([2000])
})

test('a wall clock that is set forward a little costs a renewal, not the lease', async () => {
  const { locks, sleeper } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000 }))
  sleeper.shiftWall(5000)
  expect(lease.held).toBe(false)
  await sleeper.advance(1)
  expect(lease.held).toBe(true)
  sleeper.shiftWall(-3_600_000)
  expect(lease.held).toBe(true)
})

test('a wall clock that is set forward by more than a lease lives looks like a sleep that it did not outlive', async () => {
  const { locks, sleeper } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000 }))
  sleeper.shiftWall(3_600_000)
  expect(lease.held).toBe(false)
  await sleeper.advance(1)
  expect(lease.signal.aborted).toBe(true)
})

test('a lease that is not renewed loses the time that the machine slept', async () => {
  const { locks, sleeper, sleep } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000, renew: false }))
  const before = lease.remainingMs()
  await sleep(4000)
  expect(lease.remainingMs()).toBe(before - 4000)
  expect(lease.held).toBe(true)
  await sleep(6000)
  expect(lease.held).toBe(false)
  await sleeper.advance(1)
  expect(lease.signal.aborted).toBe(true)
})

test('a grant that arrives after a sleep is asked for again', async () => {
  const { locks, others, sleeper, awake, faults, sleep } = machines()
  const gate = faults.hang('attempt', 'reply')
  const waiting = locks.acquire('a', { ttl: 1000, wait: 5000 })
  await sleeper.drain()
  await sleep(3000)
  expect(await taken(others, awake, 'a')).toBe(true)
  gate.open()
  await sleeper.drain()
  expect(locks.local().held).toBe(0)
  await expect(sleeper.until(waiting)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
})

test('a renewal that was sent before a sleep proves nothing after it', async () => {
  const { locks, others, sleeper, awake, faults, sleep } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 1200 }))
  const gate = faults.hang('renew', 'reply')
  await sleeper.advance(400)
  await sleep(3000)
  expect(await taken(others, awake, 'a')).toBe(true)
  gate.open()
  await sleeper.drain()
  expect(lease.held).toBe(false)
  await sleeper.advance(300)
  expect(lease.signal.aborted).toBe(true)
})

test('a sleep before the claim has no effect', async () => {
  const { locks, sleeper, sleep } = machines()
  await sleep(60_000)
  const lease = await sleeper.until(locks.tryAcquire('a'))
  expect(lease?.held).toBe(true)
})

test('a lease that ended in the sleep is lost without asking the store', async () => {
  const { locks, sleeper, faults, sleep } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 9000 }))
  faults.every('renew', { kind: 'lose request' })
  await sleep(20_000)
  expect(lease.held).toBe(false)
  await sleeper.advance(1)
  expect(lease.signal.aborted).toBe(true)
})

test('a renewal by hand right after a sleep does not make the lease trusted before its answer', async () => {
  const { locks, sleeper, faults, sleep } = machines()
  const lease = await sleeper.until(locks.acquire('a', { ttl: 10_000 }))
  await sleep(2000)
  const gate = faults.hang('renew')
  const extended = lease.extend(10_000)
  await gate.reached
  expect(lease.held).toBe(false)
  gate.open()
  await sleeper.until(extended)
  expect(lease.held).toBe(true)
})

import { expect, test } from 'vitest'
import { drift, failure, Scene } from './support.ts'

test('renews while the work runs, and not after', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const result = locks.using('a', { ttl: 300 }, async (lease) => {
    await new Promise<void>((resolve) => {
      scene.runtime.setTimer(resolve, 3000, false)
    })
    return lease.held
  })
  expect(await scene.runtime.until(result)).toBe(true)
  const { renew } = calls
  expect(renew).toBeGreaterThanOrEqual(9)
  await scene.runtime.advance(5000)
  expect(calls.renew).toBe(renew)
})

test('renews the leases of a process in one call', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  await scene.runtime.until(
    Promise.all(Array.from({ length: 300 }, (_, n) => locks.acquire(`k${n}`, { ttl: 900 }))),
  )
  expect(sizes.attempt).toEqual([300])
  await scene.runtime.advance(300)
  expect(sizes.renew).toEqual([300])
})

test('never renews more than 500 in one call', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  await scene.runtime.until(
    Promise.all(Array.from({ length: 1200 }, (_, n) => locks.acquire(`k${n}`, { ttl: 900 }))),
  )
  await scene.runtime.advance(310)
  expect(sizes.renew.toSorted((one, other) => other - one)).toEqual([500, 500, 200])
})

test('a renewal of unknown outcome neither ends the lease nor lengthens it, and is tried again', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const failed: string[] = []
  locks.on('renewFailed', ({ key }) => failed.push(key))
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 900 }))
  const left = lease.remainingMs()
  faults.next('renew', { kind: 'lose request' }, { kind: 'lose request' })
  await scene.runtime.advance(301)
  expect(failed).toEqual(['a'])
  expect(lease.held).toBe(true)
  expect(lease.remainingMs()).toBe(left - 301)
  await scene.runtime.advance(400)
  expect(failed).toEqual(['a', 'a'])
  expect(lease.remainingMs()).toBeGreaterThan(left - 400)
})

test('renew: false ends at the ttl; maxHold stops the renewal', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const plain = await scene.runtime.until(locks.acquire('a', { ttl: 1000, renew: false }))
  await scene.runtime.advance(1000 - drift(1000))
  expect(plain.held).toBe(false)
  expect(calls.renew).toBe(0)
  const capped = await scene.runtime.until(locks.acquire('b', { ttl: 1000, maxHold: 3000 }))
  await scene.runtime.advance(2900)
  expect(capped.held).toBe(true)
  await scene.runtime.advance(1100)
  expect(capped.held).toBe(false)
  expect((await locks.read('b')).holders).toEqual([])
})

test('a stalled event loop is noticed, and the lease proven before it is trusted again', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const stalls: number[] = []
  locks.on('stalled', ({ stalledMs }) => stalls.push(stalledMs))
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 3000 }))
  scene.runtime.stall(2500)
  expect(lease.held).toBe(false)
  expect(calls.renew).toBe(0)
  await scene.runtime.advance(1)
  expect(stalls).toHaveLength(1)
  expect(calls.renew).toBe(1)
  expect(lease.held).toBe(true)
})

test('a lease that cannot be proven after a stall is lost', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 3000 }))
  faults.every('renew', { kind: 'lose request' })
  scene.runtime.stall(2500)
  await scene.runtime.advance(1)
  expect(lease.held).toBe(false)
  expect(lease.signal.aborted).toBe(false)
  await scene.runtime.advance(1000)
  expect(lease.signal.aborted).toBe(true)
})

test('a machine that slept is noticed by its wall clock', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 3000 }))
  scene.runtime.shiftWall(1000)
  const gate = faults.hang('renew')
  await scene.runtime.advance(1000)
  expect(lease.held).toBe(false)
  gate.open()
  await scene.runtime.drain()
  expect(lease.held).toBe(true)
})

test('using judges loss when the work settles, and keeps what the work returned', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lost = locks.using('a', { ttl: 100, renew: false }, async () => {
    await scene.runtime.advance(500)
    return 42
  })
  const error = await failure(lost)
  expect(error).toMatchObject({ code: 'LEASE_LOST', result: 42 })
  const own = new Error('mine')
  const masked = locks.using('a', { ttl: 100, renew: false }, async () => {
    await scene.runtime.advance(500)
    throw own
  })
  expect(await failure(masked)).toBe(own)
})

test('using proves a doubtful lease instead of trusting or dropping it', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const value = await locks.using('a', { ttl: 3000 }, async () => {
    scene.runtime.stall(2500)
    return 'done'
  })
  expect(value).toBe('done')
  expect(calls.renew).toBe(1)
})

import { LeaseLostError } from 'holdfast'
import { expect, test } from 'vitest'
import { drift, failure, Scene } from './support.ts'

test('validity counts from before the request was sent', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.next('attempt', { kind: 'delay', ms: 300 })
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 1000, renew: false }))
  expect(lease.remainingMs()).toBe(1000 - 300 - drift(1000))
})

test('a renewal counts from before it was sent, too', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 1000 }))
  faults.next('renew', { kind: 'delay', ms: 200 })
  const before = scene.runtime.nowMs()
  await scene.runtime.until(lease.extend(2000))
  expect(lease.remainingMs()).toBe(2000 - drift(2000) - (scene.runtime.nowMs() - before))
})

test('the lease ends by its own timer while a renewal hangs, and the signal fires once with the reason', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: '1h' })
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 900 }))
  let fired = 0
  lease.signal.addEventListener('abort', () => fired++)
  faults.every('renew', { kind: 'delay', ms: 60_000 })
  await scene.runtime.advance(900 - drift(900) - 1)
  expect(lease.held).toBe(true)
  await scene.runtime.advance(1)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toBeInstanceOf(LeaseLostError)
  faults.heal()
  await scene.runtime.advance(60_000)
  expect(fired).toBe(1)
  expect(await lease.release()).toBe('expired')
})

test('a grant that had run out before it arrived is not handed out', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.next('attempt', { kind: 'delay', ms: 200 })
  const error = await failure(scene.runtime.until(locks.tryAcquire('a', { ttl: 150 })))
  expect(error.code).toBe('STORE_UNAVAILABLE')
  expect((await locks.read('a')).holders).toEqual([])
})

test('held compares the clock when asked, before any timer could run', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 1000 }))
  scene.runtime.stall(5000)
  expect(lease.held).toBe(false)
  expect(lease.remainingMs()).toBe(0)
  expect(() => lease.assertHeld()).toThrow(LeaseLostError)
})

test('a lost lock stays lost: renewal does not bring it back', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 1000 }))
  await locks.evict('a')
  await scene.runtime.advance(5000)
  expect(lease.held).toBe(false)
  expect((await locks.read('a')).holders).toEqual([])
  expect((await failure(lease.extend(1000))).code).toBe('LEASE_LOST')
})

test('extend of a lease that nothing else renews waits for its answer as long as the lease lasts', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 900, renew: false }))
  faults.next('renew', { kind: 'delay', ms: 600 })
  await scene.runtime.until(lease.extend(5000))
  expect(lease.remainingMs()).toBeGreaterThan(4000)
})

test('extend with a shorter time to live shortens at once, even when the outcome is unknown', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 10_000, renew: false }))
  faults.next('renew', { kind: 'lose reply' })
  expect((await failure(scene.runtime.until(lease.extend(500)))).code).toBe('STORE_UNAVAILABLE')
  expect(lease.remainingMs()).toBeLessThanOrEqual(500 - drift(500))
})

test('release answers expired for an expired lease, and says the same when asked again', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 100, renew: false }))
  await scene.runtime.advance(200)
  expect(await lease.release()).toBe('expired')
  expect(await lease.release()).toBe('expired')
  const other = await scene.runtime.until(locks.acquire('b'))
  const both = await scene.runtime.until(Promise.all([other.release(), other.release()]))
  expect(both).toEqual(['released', 'released'])
})

test('a release whose outcome is unknown rejects, emits an event, and is retried in the background', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const told: string[] = []
  locks.on('releaseFailed', ({ key }) => told.push(key))
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: '1h' }))
  faults.next('release', { kind: 'lose request' })
  expect((await failure(scene.runtime.until(lease.release()))).code).toBe('STORE_UNAVAILABLE')
  expect(told).toEqual(['a'])
  await scene.runtime.advance(1000)
  expect((await locks.read('a')).holders).toEqual([])
})

test('a release waits for a renewal in flight, and nothing is renewed afterwards', async () => {
  const scene = new Scene()
  const { locks, faults, calls } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 900 }))
  faults.next('renew', { kind: 'delay', ms: 100 })
  await scene.runtime.advance(310)
  const released = scene.runtime.until(lease.release())
  expect(await released).toBe('released')
  const { renew } = calls
  await scene.runtime.advance(10_000)
  expect(calls.renew).toBe(renew)
  expect(scene.runtime.pendingTimers).toBe(0)
})

test('the signal of a lease that was lost before anybody looked is aborted already', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 100, renew: false }))
  await scene.runtime.advance(200)
  expect(lease.signal.aborted).toBe(true)
  expect(lease.signal.reason).toBeInstanceOf(LeaseLostError)
})

test('the signal of a released lease never fires', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { ttl: 100 }))
  const { signal } = lease
  await scene.runtime.until(lease.release())
  await scene.runtime.advance(1000)
  await locks.close()
  expect(signal.aborted).toBe(false)
  expect(lease.held).toBe(false)
})

test('an operator asks, the lease hears of it, also when it listens late', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const operator = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a'))
  let heard = 0
  const stop = lease.on('revoked', () => heard++)
  expect(await operator.locks.evict('a', { ask: true })).toHaveLength(1)
  await scene.runtime.drain()
  expect(heard).toBe(1)
  expect(lease.held).toBe(true)
  stop()
  lease.on('revoked', () => heard++)
  await scene.runtime.drain()
  expect(heard).toBe(2)
})

test('a lease is written as JSON with its token as text', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(
    locks.semaphore('s', { limit: 3 }).acquire({ weight: 2, owner: 'me' }),
  )
  expect(JSON.parse(JSON.stringify(lease))).toEqual({
    key: 's',
    id: lease.id,
    token: String(lease.token),
    mode: 'permits',
    limit: 3,
    weight: 2,
    owner: 'me',
    ttlMs: 10_000,
  })
})

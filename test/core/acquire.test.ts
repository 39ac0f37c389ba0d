import { expect, test } from 'vitest'
import { drift, failure, Scene } from './support.ts'

test('an attempt of unknown outcome is released by id, and the caller gets the outage', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.next('attempt', { kind: 'lose reply' })
  expect((await failure(scene.runtime.until(locks.tryAcquire('a')))).code).toBe('STORE_UNAVAILABLE')
  await scene.runtime.drain()
  expect((await locks.read('a')).holders).toEqual([])
})

test('a waiting claim is resent after an outage and is still the same claim', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.next('attempt', { kind: 'lose reply' }, { kind: 'lose request' })
  const lease = await scene.runtime.until(locks.acquire('a'))
  expect(lease.held).toBe(true)
  expect((await locks.read('a')).holders).toHaveLength(1)
})

test('a wait that ends in an outage is an outage, not contention', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.every('attempt', { kind: 'lose request' })
  const error = await scene.runtime.until(failure(locks.acquire('a', { wait: 2000 })))
  expect(error.code).toBe('STORE_UNAVAILABLE')
  expect(scene.runtime.nowMs()).toBe(2000)
})

test('a store that hangs does not hold a caller beyond its wait, nor one attempt beyond the call time-out', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: 2000 })
  faults.hang('attempt')
  const waited = await scene.runtime.until(failure(locks.acquire('a', { wait: 1300 })))
  expect(waited.code).toBe('STORE_UNAVAILABLE')
  expect(scene.runtime.nowMs()).toBe(1300)
  faults.hang('attempt')
  expect((await scene.runtime.until(failure(locks.tryAcquire('b')))).code).toBe('STORE_UNAVAILABLE')
  expect(scene.runtime.nowMs()).toBe(3300)
})

test('after a time-out the next attempt comes later than after a quick refusal: the server may still be at work', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: 2000 })
  faults.next('attempt', { kind: 'lose request' })
  await scene.runtime.until(locks.acquire('a'))
  expect(scene.runtime.nowMs()).toBeLessThan(40)
  const sinceMs = scene.runtime.nowMs()
  faults.hang('attempt')
  await scene.runtime.until(locks.acquire('b'))
  expect(scene.runtime.nowMs() - sinceMs).toBeGreaterThanOrEqual(2500)
})

test('a wait cancelled while the attempt is on its way leaves nothing behind', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const controller = new AbortController()
  faults.next('attempt', { kind: 'delay', ms: 50 })
  const waiting = failure(locks.acquire('a', { signal: controller.signal }))
  await scene.runtime.advance(10)
  controller.abort(new Error('enough'))
  expect((await waiting).message).toBe('enough')
  await scene.runtime.advance(200)
  expect((await locks.read('a')).holders).toEqual([])
})

test('a signal that is aborted already never reaches the store', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const reason = new Error('no')
  expect(await failure(locks.acquire('a', { signal: AbortSignal.abort(reason) }))).toBe(reason)
  expect(calls.attempt).toBe(0)
})

test('a waiter is woken by a push, without asking again', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k')
  await scene.runtime.advance(100)
  await scene.runtime.until(holder.release())
  await scene.runtime.until(waiting)
  expect(b.calls.attempt).toBe(1)
})

test('a pushed grant is an offer, made a full lease by the first renewal', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k')
  await scene.runtime.drain()
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(waiting)
  expect(lease.remainingMs()).toBe(1000 - drift(1000))
  await scene.runtime.advance(400)
  expect(b.calls.renew).toBe(1)
  expect(lease.remainingMs()).toBeGreaterThan(9000)
})

test('work shorter than the offer never pays for it', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const work = b.locks.using('k', () => scene.runtime.advance(200))
  await scene.runtime.drain()
  await holder.release()
  // The work begins first, because both of them let time pass.
  await scene.runtime.drain()
  await scene.runtime.until(work)
  expect(b.calls).toMatchObject({ attempt: 1, renew: 0, release: 1 })
})

test('an offer that comes late is confirmed before the lease is handed out', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k')
  await scene.runtime.drain()
  b.faults.notices({ kind: 'delay', ms: 700 })
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(waiting)
  expect(b.calls.attempt).toBe(2)
  expect(lease.remainingMs()).toBeGreaterThan(9000)
})

test('an offer that ran out on its way is not believed', async () => {
  const scene = new Scene()
  const [a, b, c] = [scene.party(), scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k', { ttl: 60_000 }))
  const late = b.locks.acquire('k', { ttl: 60_000, wait: '1m' })
  await scene.runtime.drain()
  const next = c.locks.acquire('k', { ttl: 60_000, wait: '1m' })
  await scene.runtime.drain()
  b.faults.notices({ kind: 'delay', ms: 3000 })
  b.faults.every('attempt', { kind: 'lose request' })
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(next)
  await scene.runtime.advance(5000)
  expect(lease.held).toBe(true)
  b.faults.heal()
  await scene.runtime.advance(2000)
  expect(lease.held).toBe(true)
  await scene.runtime.until(lease.release())
  expect((await scene.runtime.until(late)).token as bigint).toBeGreaterThan(lease.token as bigint)
})

test('a pushed grant counts from the last blocked answer plus what the store says has passed since', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k')
  await scene.runtime.advance(900)
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(waiting)
  expect(b.calls.attempt).toBe(1)
  expect(lease.remainingMs()).toBe(1000 - (drift(1900) - 0))
})

test('renew: false gets its whole ttl, not an offer', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k', { renew: false, ttl: 5000 })
  await scene.runtime.drain()
  await scene.runtime.until(holder.release())
  expect((await scene.runtime.until(waiting)).remainingMs()).toBe(5000 - drift(5000))
})

test('a lost push costs a bounded look, not the wait', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k', { ttl: '1h' }))
  b.faults.notices({ kind: 'drop' })
  const waiting = b.locks.acquire('k', { ttl: '1h', wait: '1h' })
  await scene.runtime.drain()
  await scene.runtime.until(holder.release())
  const since = scene.runtime.nowMs()
  await scene.runtime.until(waiting)
  expect(scene.runtime.nowMs() - since).toBeLessThanOrEqual(1000)
})

test('a doubled push makes one holder', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  b.faults.notices({ kind: 'double' })
  const waiting = b.locks.acquire('k')
  await scene.runtime.drain()
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(waiting)
  expect(b.locks.local()).toEqual({ held: 1, waiting: 0 })
  expect(await scene.runtime.until(lease.release())).toBe('released')
})

test('a waiter that died costs the offer, not a ttl', async () => {
  const scene = new Scene()
  const [a, dead, b] = [scene.party(), scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k', { ttl: 60_000 }))
  failure(dead.locks.acquire('k', { ttl: 60_000, wait: '1h' })).catch(() => {})
  await scene.runtime.drain()
  const waiting = b.locks.acquire('k', { ttl: 60_000, wait: '1h' })
  await scene.runtime.drain()
  dead.faults.cut()
  await scene.runtime.until(holder.release())
  const since = scene.runtime.nowMs()
  await scene.runtime.until(waiting)
  expect(scene.runtime.nowMs() - since).toBeLessThanOrEqual(2010)
})

test('spinning asks again and again and joins no line', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('k'))
  const waiting = b.locks.acquire('k', { retry: { spin: '10ms', jitter: 0 } })
  await scene.runtime.advance(100)
  expect((await a.locks.read('k')).queue).toEqual([])
  expect(b.calls.attempt).toBe(11)
  await scene.runtime.until(holder.release())
  await scene.runtime.until(waiting)
})

test('one that spins does not keep the others of its process waiting behind it', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const reader = await scene.runtime.until(a.locks.rw('k').read.acquire())
  const spinning = failure(b.locks.acquire('k', { retry: { spin: '1h' }, wait: '2h' }))
  await scene.runtime.drain()
  const queued = b.locks.acquire('k')
  await scene.runtime.drain()
  await scene.runtime.until(reader.release())
  expect((await scene.runtime.until(queued)).held).toBe(true)
  await scene.runtime.until(b.locks.close())
  expect((await spinning).code).toBe('CLOSED')
})

test('claims and releases of one tick travel as one call', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
  await scene.runtime.until(Promise.all(keys.map((key) => locks.using(key, async () => {}))))
  expect(sizes.attempt).toEqual([100])
  expect(sizes.release).toEqual([100])
})

test('another limit or another kind for the same key is a conflict', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  await scene.runtime.until(locks.semaphore('s', { limit: 2 }).acquire())
  const wrong = [
    locks.semaphore('s', { limit: 3 }).acquire(),
    locks.acquire('s'),
    locks.rw('s').read.acquire(),
  ]
  const errors = await scene.runtime.until(Promise.all(wrong.map(failure)))
  expect(errors.map((error) => error.code)).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT'])
  expect(locks.local()).toEqual({ held: 1, waiting: 0 })
})

test('a wait that is shorter than an answer is no outage, and says so', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const gate = faults.hang('attempt')
  const error = await scene.runtime.until(failure(locks.acquire('a', { wait: 1 })))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', answered: false, waitedMs: 1 })
  expect(error.message).toBe('the wait of 1 ms for "a" was shorter than one answer of the store')
  gate.open()
  await scene.runtime.drain()
  expect((await locks.read('a')).holders).toEqual([])
})

test('a store that is silent for a second is an outage', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.hang('attempt')
  const error = await scene.runtime.until(failure(locks.acquire('a', { wait: 1000 })))
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(error.message).toContain('within the wait of 1000 ms')
})

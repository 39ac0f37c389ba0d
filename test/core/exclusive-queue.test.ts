import type { Lease } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

const many = (count: number) => Array.from({ length: count }, (_, index) => index)
const sleep = (scene: Scene, ms: number) =>
  new Promise<void>((resolve) => {
    scene.runtime.setTimer(resolve, ms, false)
  })

test('many waiters of one process are one claim in the store, served in order', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const order: number[] = []
  await scene.runtime.until(Promise.all(many(50).map((n) => locks.using('a', async () => order.push(n)))))
  expect(order).toEqual(many(50))
  expect(calls).toMatchObject({ attempt: 1, release: 1 })
})

test('every local holder has its own, rising token', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const tokens: bigint[] = []
  const use = () => locks.using('a', async ({ token }) => tokens.push(token as bigint))
  await scene.runtime.until(Promise.all(many(600).map(use)))
  for (const [index, token] of tokens.entries())
    if (index > 0) expect(token).toBeGreaterThan(tokens[index - 1] as bigint)
  expect(new Set(tokens.map((token) => token / 256n)).size).toBe(3)
})

test('while others wait in the store, the key is given away after a bounded number of hand-overs', async () => {
  const scene = new Scene()
  const here = scene.party()
  const there = scene.party()
  const served: string[] = []
  const first = await scene.runtime.until(here.locks.acquire('a'))
  const local = many(40).map(() => here.locks.using('a', async () => served.push('here')))
  const remote = there.locks.using('a', async () => served.push('there'))
  await scene.runtime.advance(1)
  await scene.runtime.until(Promise.all([first.release(), ...local, remote]))
  expect(served.indexOf('there')).toBe(5)
})

test('but not before a wake-up is worth it: short work goes on for a millisecond, and never beyond the tokens', async () => {
  const scene = new Scene()
  const here = scene.party()
  const there = scene.party()
  const served: string[] = []
  const first = await scene.runtime.until(here.locks.acquire('a'))
  const work = async () => {
    served.push('here')
    if (served.length === 100) await sleep(scene, 1)
  }
  const local = many(120).map(() => here.locks.using('a', work))
  const remote = there.locks.using('a', async () => served.push('there'))
  await scene.runtime.drain()
  await scene.runtime.until(Promise.all([first.release(), ...local, remote]))
  expect(served.indexOf('there')).toBe(100)

  const again = await scene.runtime.until(here.locks.acquire('b'))
  const theirs = many(300).map(() => here.locks.using('b', async () => served.push('b here')))
  const other = there.locks.using('b', async () => served.push('b there'))
  await scene.runtime.drain()
  await scene.runtime.until(Promise.all([again.release(), ...theirs, other]))
  expect(served.indexOf('b there') - served.indexOf('b here')).toBe(255)
})

test('while others wait in the store, the key is given away after a bounded time', async () => {
  const scene = new Scene()
  const here = scene.party()
  const there = scene.party()
  const served: string[] = []
  const slow = async () => {
    served.push('here')
    await sleep(scene, 400)
  }
  const local = many(8).map(() => here.locks.using('a', slow))
  await scene.runtime.drain()
  const remote = there.locks.using('a', async () => served.push('there'))
  await scene.runtime.until(Promise.all([...local, remote]))
  expect(served.indexOf('there')).toBe(3)
})

test.each([
  ['handover: false', { handover: false }, {}],
  ['another ttl', {}, { ttl: 5000 }],
  ['other meta', {}, { meta: { job: 2 } }],
  ['another actor', {}, { actor: 'b' }],
  ['renew: false', {}, { renew: false }],
])('no hand-over with %s: the next claims for itself', async (_name, settings, options) => {
  const scene = new Scene()
  const { locks, calls } = scene.party(settings)
  const first = await scene.runtime.until(locks.acquire('a', { ttl: 4000 }))
  const second = locks.acquire('a', { ttl: 4000, ...options })
  await scene.runtime.until(first.release())
  const lease = await scene.runtime.until(second)
  expect(calls.attempt).toBe(2)
  expect((lease.token as bigint) / 256n).toBeGreaterThan((first.token as bigint) / 256n)
})

test('a lease that was serialised is never handed over', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const first = await scene.runtime.until(locks.acquire('a'))
  JSON.stringify(first)
  const second = locks.acquire('a')
  await scene.runtime.until(first.release())
  expect((await scene.runtime.until(second)).id).not.toBe(first.id)
})

test('a hold with little life left is renewed before it is handed over', async () => {
  const scene = new Scene()
  const { locks, faults, calls } = scene.party()
  const first = await scene.runtime.until(locks.acquire('a', { ttl: 3000 }))
  faults.every('renew', { kind: 'lose request' })
  await scene.runtime.advance(1600)
  faults.heal()
  const second = locks.acquire('a', { ttl: 3000 })
  expect(calls.renew).toBe(0)
  await scene.runtime.until(first.release())
  const lease = await scene.runtime.until(second)
  expect(lease.id).toBe(first.id)
  expect(lease.remainingMs()).toBeGreaterThan(2900)
  expect(calls).toMatchObject({ attempt: 1, renew: 1, release: 0 })
})

test('a hold that turns out to be lost while it is renewed for a hand-over frees the way for the next', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const first = await scene.runtime.until(here.locks.acquire('a', { ttl: 3000 }))
  here.faults.every('renew', { kind: 'lose request' })
  await scene.runtime.advance(1600)
  here.faults.heal()
  here.faults.notices({ kind: 'drop' })
  const second = here.locks.acquire('a', { ttl: 3000 })
  await there.locks.evict('a')
  expect(await scene.runtime.until(first.release())).toBe('expired')
  expect((await scene.runtime.until(second)).id).not.toBe(first.id)
})

test('a lost lease is not handed over, and the next waiter goes for the key at once', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const first = await scene.runtime.until(locks.acquire('a', { ttl: 500, renew: false }))
  const second = await scene.runtime.until(locks.acquire('a', { ttl: 500 }))
  expect(first.held).toBe(false)
  expect(second.id).not.toBe(first.id)
  expect(second.token as bigint).toBeGreaterThan(first.token as bigint)
  expect(await first.release()).toBe('expired')
  expect(second.held).toBe(true)
})

test('a waiter that leaves passes its position in the store’s queue to the next local one', async () => {
  const scene = new Scene()
  const [here, there, third] = [scene.party(), scene.party(), scene.party()]
  const holder = await scene.runtime.until(there.locks.acquire('a'))
  const impatient = failure(here.locks.acquire('a', { wait: 100 }))
  const patient = here.locks.acquire('a')
  await scene.runtime.drain()
  const later = third.locks.acquire('a')
  await scene.runtime.advance(200)
  expect((await impatient).code).toBe('LOCK_TIMEOUT')
  await scene.runtime.until(holder.release())
  const lease = await scene.runtime.until(patient)
  expect((await here.locks.read('a')).queue).toHaveLength(1)
  await scene.runtime.until(lease.release())
  await scene.runtime.until((await scene.runtime.until(later)).release())
})

test('the last waiter that leaves leaves nothing in the queue', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(there.locks.acquire('a'))
  const controller = new AbortController()
  const reason = new Error('enough')
  const waiting = [1, 2, 3].map(() => failure(here.locks.acquire('a', { signal: controller.signal })))
  await scene.runtime.drain()
  expect((await there.locks.read('a')).queue).toHaveLength(1)
  controller.abort(reason)
  expect(await Promise.all(waiting)).toEqual([reason, reason, reason])
  await scene.runtime.drain()
  expect((await there.locks.read('a')).queue).toEqual([])
  expect(holder.held).toBe(true)
})

test('one attempt is turned away at once while the key is held here', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party({ label: 'me' })
  const lease = await scene.runtime.until(locks.acquire('a'))
  expect(await locks.tryAcquire('a')).toBeNull()
  expect(await failure(locks.acquire('a', { wait: 0 }))).toMatchObject({
    code: 'LOCK_TIMEOUT',
    holder: 'me',
    position: 1,
  })
  expect(calls.attempt).toBe(1)
  await scene.runtime.until(lease.release())
})

test('a waiter whose time is up says who holds the key and for how long', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party({ label: 'them' })]
  await scene.runtime.until(there.locks.acquire('a'))
  await scene.runtime.advance(500)
  const error = await scene.runtime.until(failure(here.locks.acquire('a', { wait: 2000 })))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'a', holder: 'them', position: 1, waitedMs: 2000 })
  expect((error as Error & { heldMs: number }).heldMs).toBeGreaterThanOrEqual(2400)
})

test('a downgrade whose reply is lost still counts: the claim is not handed to the next local writer', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const writer = await scene.runtime.until(here.locks.rw('a').write.acquire())
  const nextWriter = here.locks.rw('a').write.acquire({ wait: '1m' })
  const reading = there.locks.rw('a').read.acquire({ wait: '1m' })
  await scene.runtime.drain()
  here.faults.next('attempt', { kind: 'lose reply' })
  expect((await scene.runtime.until(failure(writer.downgrade()))).code).toBe('STORE_UNAVAILABLE')
  const reader = await scene.runtime.until(reading)
  await scene.runtime.until(writer.release())
  expect(reader.held).toBe(true)
  let served = false
  void nextWriter.then(() => {
    served = true
  })
  await scene.runtime.advance(100)
  expect(served).toBe(false)
  await scene.runtime.until(reader.release())
  await scene.runtime.until(nextWriter)
})

test('a downgraded writer lets readers in and the next local writer waits', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const rw = here.locks.rw('a')
  const writer = await scene.runtime.until(rw.write.acquire())
  const nextWriter = rw.write.acquire()
  await scene.runtime.drain()
  await scene.runtime.until(writer.downgrade())
  const reader = await scene.runtime.until(here.locks.rw('a').read.tryAcquire())
  expect(reader).toBeNull()
  let served: Lease | null = null
  void nextWriter.then((lease) => {
    served = lease
  })
  await scene.runtime.advance(100)
  expect(served).toBeNull()
  expect(writer.held).toBe(true)
  await scene.runtime.until(writer.release())
  await scene.runtime.until((await scene.runtime.until(nextWriter)).release())
  const readers = await scene.runtime.until(
    Promise.all([here.locks.rw('a').read.acquire(), there.locks.rw('a').read.acquire()]),
  )
  expect(readers.every((lease) => lease.held)).toBe(true)
})

test('a lease that was handed over after maxHold is renewed again', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const first = await scene.runtime.until(locks.acquire('a', { ttl: 900, maxHold: 200 }))
  const next = locks.acquire('a', { ttl: 900, wait: 5000 })
  await scene.runtime.advance(300)
  await scene.runtime.until(first.release())
  const lease = await scene.runtime.until(next)
  expect(calls.attempt).toBe(1)
  await scene.runtime.advance(5000)
  expect(lease.held).toBe(true)
})

test('a lease that was handed over with a maxHold of its own is not renewed beyond it', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const first = await scene.runtime.until(locks.acquire('a', { ttl: 900 }))
  const next = locks.acquire('a', { ttl: 900, maxHold: 100, wait: 5000 })
  await scene.runtime.until(first.release())
  const lease = await scene.runtime.until(next)
  await scene.runtime.advance(900)
  expect(calls.renew).toBe(0)
  expect(lease.held).toBe(false)
})

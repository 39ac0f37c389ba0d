import { createLocks, type LeaseJson, UnsupportedError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

test('a lease is handed to another process: the id is swapped, the giver’s lease ends, the token rises', async () => {
  const scene = new Scene()
  const [giver, taker] = [scene.party(), scene.party()]
  const given = await scene.runtime.until(giver.locks.acquire('k'))
  const text = JSON.stringify(given)
  const adopted = await scene.runtime.until(taker.locks.adopt(JSON.parse(text) as LeaseJson))
  await scene.runtime.drain()
  expect(given.held).toBe(false)
  expect(given.signal.aborted).toBe(true)
  expect(adopted.held).toBe(true)
  expect(adopted.token as bigint).toBeGreaterThan(given.token as bigint)
  expect(await given.release()).toBe('expired')
  expect(adopted.held).toBe(true)
  expect((await failure(giver.locks.adopt(JSON.parse(text) as LeaseJson))).code).toBe('LEASE_LOST')
})

test('adoption is refused where the store cannot do it', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  Object.assign(locks.traits, { adoption: false })
  const lease = await scene.runtime.until(locks.acquire('k'))
  expect((await failure(locks.adopt(lease.toJSON()))).code).toBe('UNSUPPORTED')
})

test('close releases what is held, ends what waits, and leaves no timer', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const lease = await scene.runtime.until(a.locks.acquire('x'))
  await scene.runtime.until(b.locks.acquire('y'))
  const waiting = [
    failure(a.locks.acquire('y')),
    failure(a.locks.acquire('x')),
    failure(a.locks.rw('y').read.acquire()),
  ]
  await scene.runtime.drain()
  await scene.runtime.until(a.locks.close())
  expect((await Promise.all(waiting)).map((error) => error.code)).toEqual(['CLOSED', 'CLOSED', 'CLOSED'])
  expect(lease.signal.aborted).toBe(true)
  expect((await b.locks.read('x')).holders).toEqual([])
  expect((await b.locks.read('y')).queue).toEqual([])
  await scene.runtime.until(b.locks.close())
  expect(scene.runtime.pendingTimers).toBe(0)
  for (const late of [
    a.locks.acquire('x'),
    a.locks.read('x'),
    a.locks.all(['x']),
    a.locks.using('x', () => {}),
  ]) {
    expect((await failure(late)).code).toBe('CLOSED')
  }
})

test('close is bounded when the store hangs', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: 1000 })
  await scene.runtime.until(locks.acquire('x'))
  faults.hang('release')
  const before = scene.runtime.nowMs()
  await scene.runtime.until(locks.close())
  expect(scene.runtime.nowMs() - before).toBeLessThanOrEqual(1000)
})

test('using during close: the work sees its signal and using rejects with the loss', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const work = locks.using(
    'x',
    (lease) => new Promise((resolve) => lease.signal.addEventListener('abort', resolve)),
  )
  await scene.runtime.drain()
  const closing = locks.close()
  expect((await scene.runtime.until(failure(work))).code).toBe('LEASE_LOST')
  await scene.runtime.until(closing)
})

test('using returns what the work returns, throws what it throws, and releases either way', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  expect(await scene.runtime.until(locks.using('a', () => 5))).toBe(5)
  const own = new Error('mine')
  const thrown = locks.using('a', () => {
    throw own
  })
  expect(await scene.runtime.until(failure(thrown))).toBe(own)
  expect((await locks.read('a')).holders).toEqual([])
})

test('an error of the release does not fail the work, and does not mask its error', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  faults.every('release', { kind: 'lose request' })
  expect(await scene.runtime.until(locks.using('a', async () => 'ok'))).toBe('ok')
  const own = new Error('mine')
  const thrown = locks.using('b', async () => {
    throw own
  })
  expect(await scene.runtime.until(failure(thrown))).toBe(own)
  faults.heal()
})

test('release: background returns once the release was sent', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const gate = faults.hang('release', 'reply')
  expect(await scene.runtime.until(locks.using('a', { release: 'background' }, async () => 'ok'))).toBe('ok')
  gate.open()
  await scene.runtime.drain()
  expect((await locks.read('a')).holders).toEqual([])
})

test('await using releases at the end of the block', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  {
    await using lease = await locks.acquire('a')
    expect(lease.held).toBe(true)
  }
  expect((await locks.read('a')).holders).toEqual([])
})

test('events tell the story of a lock, and a listener that throws breaks nothing', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const story: string[] = []
  for (const name of [
    'granted',
    'waiting',
    'timeout',
    'renewed',
    'lost',
    'released',
    'handedOver',
  ] as const) {
    b.locks.on(name, () => story.push(name))
  }
  b.locks.on('granted', () => {
    throw new Error('listener')
  })
  const warned = new Promise((resolve) => process.once('warning', resolve))
  const holder = await scene.runtime.until(a.locks.acquire('k', { ttl: 900 }))
  await scene.runtime.until(failure(b.locks.acquire('k', { ttl: 900, wait: 100 })))
  const waiting = [b.locks.acquire('k', { ttl: 900 }), b.locks.acquire('k', { ttl: 900 })]
  await scene.runtime.drain()
  await scene.runtime.until(holder.release())
  const first = await scene.runtime.until(waiting[0] as Promise<typeof holder>)
  await scene.runtime.advance(400)
  await scene.runtime.until(first.release())
  await scene.runtime.until(waiting[1] as Promise<typeof holder>)
  await a.locks.evict('k')
  await scene.runtime.drain()
  expect(story).toEqual([
    'waiting',
    'timeout',
    'waiting',
    'granted',
    'renewed',
    'handedOver',
    'granted',
    'released',
    'lost',
  ])
  expect(String(await warned)).toContain('listener')
})

test('lock delay keeps a key closed after an expiry, not after a release', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ lockDelay: '5s' }), scene.party()]
  const released = await scene.runtime.until(a.locks.acquire('k', { ttl: 1000 }))
  await scene.runtime.until(released.release())
  const expired = await scene.runtime.until(a.locks.acquire('k', { ttl: 1000 }))
  a.faults.cut()
  const since = scene.runtime.nowMs()
  await scene.runtime.until(b.locks.acquire('k', { wait: '1m' }))
  expect(expired.held).toBe(false)
  expect(scene.runtime.nowMs() - since).toBeGreaterThanOrEqual(5900)
  expect(scene.runtime.nowMs() - since).toBeLessThanOrEqual(7000)
})

test('lock delay also holds when the holder notices the loss before the store does', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ lockDelay: '5s' }), scene.party()]
  const lease = await scene.runtime.until(a.locks.acquire('k', { ttl: 1000, renew: false }))
  const since = scene.runtime.nowMs()
  await scene.runtime.until(b.locks.acquire('k', { wait: '1m' }))
  expect(lease.signal.aborted).toBe(true)
  expect(scene.runtime.nowMs() - since).toBeGreaterThanOrEqual(6000)
})

test('close gives up on a renewal that hangs, and leaves no timer of it', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  await scene.runtime.until(locks.acquire('x', { ttl: 900 }))
  faults.hang('renew')
  await scene.runtime.advance(301)
  await scene.runtime.until(locks.close())
  expect(scene.runtime.pendingTimers).toBe(0)
})

test('close waits for a release that itself waits for a renewal in flight', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const lease = await scene.runtime.until(a.locks.acquire('x', { ttl: 900 }))
  a.faults.hang('renew')
  await scene.runtime.advance(301)
  const released = failure(lease.release().then((outcome) => Promise.reject(new Error(outcome))))
  await scene.runtime.until(a.locks.close())
  expect((await released).message).toBe('released')
  expect((await b.locks.read('x')).holders).toEqual([])
  await scene.runtime.until(b.locks.close())
  expect(scene.runtime.pendingTimers).toBe(0)
})

test('an operator’s call to a store that fails or hangs ends as a store error, in bounded time', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: 700 })
  faults.next('admin', { kind: 'lose request' })
  expect((await failure(locks.read('a'))).code).toBe('STORE_UNAVAILABLE')
  faults.hang('admin')
  expect((await scene.runtime.until(failure(locks.evict('a')))).code).toBe('STORE_UNAVAILABLE')
  expect(scene.runtime.nowMs()).toBe(700)
  faults.next('records', { kind: 'lose reply' })
  const written = Promise.resolve(locks.records?.write('r', '1', null, { kind: 'always' }))
  expect((await failure(written)).code).toBe('STORE_UNAVAILABLE')
})

test('a final refusal of a store is not waited out', async () => {
  const store = memory()
  const refuse = () => {
    throw new UnsupportedError('a newer format')
  }
  await using locks = createLocks({ store: { ...store, attempt: refuse } })
  expect((await failure(locks.acquire('a', { wait: '1h' }))).code).toBe('UNSUPPORTED')
})

test('evict compares the token, tells the holder, and the next token is higher', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ label: 'holder' }), scene.party()]
  const lease = await scene.runtime.until(a.locks.acquire('k'))
  expect(await b.locks.evict('k', { token: (lease.token as bigint) - 256n })).toEqual([])
  expect(lease.held).toBe(true)
  expect(await b.locks.evict('k', { token: lease.token as bigint })).toEqual(['holder'])
  await scene.runtime.drain()
  expect(lease.held).toBe(false)
  const next = await scene.runtime.until(b.locks.acquire('k'))
  expect(next.token as bigint).toBeGreaterThan(lease.token as bigint)
})

test('without a store every object is a world of its own', async () => {
  await using a = createLocks()
  await using b = createLocks()
  await using held = await a.acquire('k')
  expect(held.held).toBe(true)
  await using other = await b.acquire('k', { wait: 0 })
  expect(other.held).toBe(true)
})

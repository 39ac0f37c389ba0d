import type { Lease } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

const many = (count: number) => Array.from({ length: count }, (_, index) => index)

test('the readers of one process are few claims in the store, each with a token of its own', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  const leases = await scene.runtime.until(Promise.all(many(1000).map(() => locks.rw('book').read.acquire())))
  expect((await locks.read('book')).holders).toHaveLength(4)
  expect(sizes.attempt.reduce((sum, size) => sum + size, 0)).toBe(4)
  expect(new Set(leases.map(({ token }) => token)).size).toBe(1000)
  for (const lease of leases) expect(lease.held).toBe(true)
  await scene.runtime.until(Promise.all(leases.map((lease) => lease.release())))
  expect((await locks.read('book')).holders).toEqual([])
})

test('the hold lives until its last reader leaves', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const first = await scene.runtime.until(locks.rw('book').read.acquire())
  const second = await scene.runtime.until(locks.rw('book').read.acquire())
  expect(second.id).toBe(first.id)
  expect(second.token as bigint).toBeGreaterThan(first.token as bigint)
  expect(await scene.runtime.until(first.release())).toBe('released')
  expect([first.held, second.held]).toEqual([false, true])
  expect(calls.release).toBe(0)
  expect(await scene.runtime.until(second.release())).toBe('released')
  expect((await locks.read('book')).holders).toEqual([])
})

test('readers that come after a waiting writer stand behind it', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const order: string[] = []
  const early = await scene.runtime.until(here.locks.rw('book').read.acquire())
  const writer = there.locks.rw('book').write.using(async () => order.push('writer'))
  await scene.runtime.advance(1)
  const late = many(20).map(() => here.locks.rw('book').read.using(async () => order.push('reader')))
  await scene.runtime.advance(500)
  expect(order).toEqual([])
  await scene.runtime.until(early.release())
  await scene.runtime.until(Promise.all([writer, ...late]))
  expect(order).toEqual(['writer', ...many(20).map(() => 'reader')])
})

test('a writer of the same process waits in the same way', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const order: string[] = []
  const early = await scene.runtime.until(locks.rw('book').read.acquire())
  const writer = locks.rw('book').write.using(async () => order.push('writer'))
  await scene.runtime.advance(1)
  const late = locks.rw('book').read.using(async () => order.push('reader'))
  await scene.runtime.until(early.release())
  await scene.runtime.until(Promise.all([writer, late]))
  expect(order).toEqual(['writer', 'reader'])
})

test('a reader that comes in the same turn as a writer of its process stands behind it', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const order: string[] = []
  const early = await scene.runtime.until(locks.rw('book').read.acquire())
  const writer = locks.rw('book').write.using(async () => order.push('writer'))
  const late = many(3).map(() => locks.rw('book').read.using(async () => order.push('reader')))
  await scene.runtime.until(early.release())
  await scene.runtime.until(Promise.all([writer, ...late]))
  expect(order).toEqual(['writer', 'reader', 'reader', 'reader'])
})

test('a writer whose push was lost is noticed by the next renewal', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const leases: Lease[] = [await scene.runtime.until(here.locks.rw('book').read.acquire({ ttl: 3000 }))]
  here.faults.notices({ kind: 'drop' })
  const writer = there.locks.rw('book').write.acquire({ wait: '1m' })
  await scene.runtime.advance(1100)
  const late = failure(here.locks.rw('book').read.acquire({ ttl: 3000, wait: 100 }))
  expect((await scene.runtime.until(late)).code).toBe('LOCK_TIMEOUT')
  await scene.runtime.until(Promise.all(leases.map((lease) => lease.release())))
  expect((await scene.runtime.until(writer)).held).toBe(true)
})

test('a lost hold is lost for each of its readers, and the next reader claims anew', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const leases = await scene.runtime.until(Promise.all(many(3).map(() => locks.rw('book').read.acquire())))
  const causes: string[] = []
  locks.on('lost', ({ cause }) => causes.push(cause))
  await locks.evict('book')
  await scene.runtime.drain()
  expect(leases.map(({ held }) => held)).toEqual([false, false, false])
  expect(leases.every(({ signal }) => signal.aborted)).toBe(true)
  expect(causes).toEqual(['evicted', 'evicted', 'evicted'])
  const next = await scene.runtime.until(locks.rw('book').read.acquire())
  expect(next.token as bigint).toBeGreaterThan(leases[2]?.token as bigint)
})

test('a reader that leaves early does not take the wait of the others along', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const writer = await scene.runtime.until(there.locks.rw('book').write.acquire())
  const gone = failure(here.locks.rw('book').read.acquire({ wait: 100 }))
  const stays = here.locks.rw('book').read.acquire({ wait: 60_000 })
  expect((await scene.runtime.until(gone)).code).toBe('LOCK_TIMEOUT')
  expect((await here.locks.read('book')).queue).toHaveLength(1)
  await scene.runtime.until(writer.release())
  expect((await scene.runtime.until(stays)).held).toBe(true)
  const alone = failure(there.locks.rw('book').write.acquire({ wait: 100 }))
  expect((await scene.runtime.until(alone)).code).toBe('LOCK_TIMEOUT')
  expect((await here.locks.read('book')).queue).toEqual([])
})

test.each([
  ['handover: false', { handover: false }, {}],
  ['another ttl', {}, { ttl: 5000 }],
  ['other meta', {}, { meta: { job: 2 } }],
  ['renew: false', {}, { renew: false }],
  ['maxHold', {}, { maxHold: 5000 }],
  ['an owner', {}, { owner: 'me' }],
])('no hold is shared with %s', async (_name, settings, options) => {
  const scene = new Scene()
  const { locks } = scene.party(settings)
  const first = await scene.runtime.until(locks.rw('book').read.acquire({ ttl: 4000 }))
  const second = await scene.runtime.until(locks.rw('book').read.acquire({ ttl: 4000, ...options }))
  expect(second.id).not.toBe(first.id)
  expect((await locks.read('book')).holders).toHaveLength(2)
})

test('one of several readers cannot be adopted by another process, a single one can, and no reader joins it then', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const first = await scene.runtime.until(locks.rw('book').read.acquire())
  const second = await scene.runtime.until(locks.rw('book').read.acquire())
  expect(() => JSON.stringify(first)).toThrow('handover: false')
  await second.release()
  JSON.stringify(first)
  const third = await scene.runtime.until(locks.rw('book').read.acquire())
  expect(third.id).not.toBe(first.id)
})

test('extending one reader never shortens the hold of the others', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const first = await scene.runtime.until(locks.rw('book').read.acquire({ ttl: 8000 }))
  const second = await scene.runtime.until(locks.rw('book').read.acquire({ ttl: 8000 }))
  await scene.runtime.until(first.extend(1000))
  expect(second.remainingMs()).toBeGreaterThan(7800)
  await first.release()
  await scene.runtime.until(second.extend(1000))
  expect(second.remainingMs()).toBeLessThan(1000)
})

test('one try of many readers is one claim, answered for each', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  await scene.runtime.until(there.locks.rw('book').write.acquire())
  const tries = many(50).map(() => here.locks.rw('book').read.tryAcquire())
  expect(await scene.runtime.until(Promise.all(tries))).toEqual(many(50).map(() => null))
  expect((await here.locks.read('book')).queue).toEqual([])
})

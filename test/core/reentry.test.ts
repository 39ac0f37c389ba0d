import { expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

test('a context that holds the key enters again, and only the outermost release gives it back', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const options = { reentrant: true }
  const tokens = locks.using('a', options, (outer) =>
    locks.using('a', options, async (inner) => {
      const third = await locks.acquire('a', options)
      expect(await third.release()).toBe('released')
      expect(third.held).toBe(false)
      expect(inner.held).toBe(true)
      return [outer.token, inner.token, third.token]
    }),
  )
  expect(new Set(await scene.runtime.until(tokens)).size).toBe(1)
  expect(calls).toMatchObject({ attempt: 1, release: 1 })
})

test('without the option, the same context waits for itself', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const nested = locks.using('a', () => locks.acquire('a', { wait: 100 }))
  expect((await scene.runtime.until(failure(nested))).code).toBe('LOCK_TIMEOUT')
})

const HINT = 'this process holds it itself: a nested using needs { reentrant: true }, and so does the outer'

test.each([0, 100])('the error of a wait of %i ms for itself says so', async (wait) => {
  const scene = new Scene()
  const { locks } = scene.party()
  const nested = locks.using('a', () => locks.using('a', { wait }, async () => {}))
  const error = await scene.runtime.until(failure(nested))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', heldHere: true })
  expect(error.message).toContain(HINT)
})

test.each([
  ['a reader that wants to write', 'rw', 'rw'],
  ['the only permit, twice', 'semaphore', 'semaphore'],
  ['one of several keys', 'mutex', 'all'],
  ['a key of several', 'all', 'mutex'],
] as const)('%s: who waits for itself is told so', async (_, outer, inner) => {
  const scene = new Scene()
  const { locks } = scene.party({ prefix: 'shop:' })
  const ways = {
    rw: [() => locks.rw('a').read.acquire(), () => locks.rw('a').write.acquire({ wait: 50 })],
    semaphore: [
      () => locks.semaphore('a', { limit: 1 }).acquire(),
      () => locks.semaphore('a', { limit: 1 }).acquire({ wait: 50 }),
    ],
    mutex: [() => locks.acquire('a'), () => locks.acquire('a', { wait: 50 })],
    all: [() => locks.all(['a', 'b']), () => locks.all(['a', 'b'], { wait: 50 })],
  } as const
  await scene.runtime.until(ways[outer][0]())
  expect(await scene.runtime.until(failure(ways[inner][1]()))).toMatchObject({ heldHere: true })
})

test('the error of a wait for another process of the same label does not say so', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ label: 'worker' }), scene.party({ label: 'worker' })]
  await scene.runtime.until(a.locks.acquire('a'))
  await scene.runtime.until(b.locks.acquire('b'))
  const error = await scene.runtime.until(failure(b.locks.acquire('a', { wait: 50 })))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', holder: 'worker', heldHere: false })
  expect(error.message).not.toContain('itself')
})

test('another context does not enter', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a', { reentrant: true }))
  expect(await locks.tryAcquire('a', { reentrant: true })).toBeNull()
  await scene.runtime.until(lease.release())
})

test('a reader that asks for an exclusive lease inside itself gets an error instead of waiting for itself', async () => {
  const scene = new Scene()
  const rw = scene.party().locks.rw('a', { reentrant: true })
  const upgrade = rw.read.using(() => rw.write.using(async () => {}))
  expect((await scene.runtime.until(failure(upgrade))).code).toBe('CONFLICT')
  await scene.runtime.until(rw.write.using(() => rw.read.using(async () => {})))
})

test('a named owner joins its own hold from another process, past a waiting line', async () => {
  const scene = new Scene()
  const [a, b, c] = [scene.party(), scene.party(), scene.party()]
  const first = await scene.runtime.until(a.locks.acquire('k', { owner: 'order-7' }))
  const stranger = c.locks.acquire('k')
  await scene.runtime.drain()
  const second = await scene.runtime.until(b.locks.acquire('k', { owner: 'order-7' }))
  expect(second.token).toBe(first.token)
  await scene.runtime.until(first.release())
  expect((await a.locks.read('k')).holders).toHaveLength(1)
  await scene.runtime.until(second.release())
  expect((await scene.runtime.until(stranger)).held).toBe(true)
})

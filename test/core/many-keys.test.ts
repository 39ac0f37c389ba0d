import { createLocks } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import { expect, it, test } from 'vitest'
import { failure, Scene } from './support.ts'

/** More than the idle keys that a process remembers, several times over. */
const KEYS = Array.from({ length: 1500 }, (_, number) => `key-${number}`)

it('closing ends every wait, however many keys are waited for', async () => {
  const world = memoryWorld()
  const [holder, waiter] = [
    createLocks({ store: memory({ world }) }),
    createLocks({ store: memory({ world }) }),
  ]
  await Promise.all(KEYS.map((key) => holder.acquire(key)))
  const ended = new Map<string, string>()
  for (const key of KEYS)
    waiter.acquire(key, { wait: Number.POSITIVE_INFINITY }).then(
      () => ended.set(key, 'granted'),
      ({ code }) => ended.set(key, code),
    )
  expect(waiter.local().waiting).toBe(KEYS.length)
  await waiter.close()
  await holder.close()
  expect(KEYS.filter((key) => ended.get(key) !== 'CLOSED')).toEqual([])
})

it('the callers of one process share one claim on each of many keys', async () => {
  const locks = createLocks()
  for (const key of KEYS) {
    const lease = await locks.acquire(key)
    const next = locks.acquire(key, { wait: 5000 })
    expect((await locks.read(key)).queue, key).toEqual([])
    await lease.release()
    await (await next).release()
  }
  await locks.close()
})

test('a wait for any of very many keys ends when the locks are closed', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const keys = KEYS.slice(0, 700)
  await scene.runtime.until(Promise.all(keys.map((key) => there.locks.acquire(key))))
  const errors = keys.map((key) => failure(here.locks.acquire(key)))
  await scene.runtime.drain()
  await scene.runtime.until(here.locks.close())
  for (const error of await scene.runtime.until(Promise.all(errors))) expect(error.code).toBe('CLOSED')
})

test('waiters of very many keys are woken by a push', async () => {
  const scene = new Scene()
  const [here, there] = [scene.party(), scene.party()]
  const keys = KEYS.slice(0, 700)
  const held = await scene.runtime.until(Promise.all(keys.map((key) => there.locks.acquire(key))))
  const waiting = keys.map((key) => here.locks.acquire(key))
  await scene.runtime.drain()
  const attempts = here.calls.attempt
  await scene.runtime.until(Promise.all(held.map((lease) => lease.release())))
  await scene.runtime.drain()
  expect(await Promise.all(waiting)).toHaveLength(700)
  expect(here.calls.attempt).toBe(attempts)
})

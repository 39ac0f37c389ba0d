import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/store.ts'

/** A store of two parts, or whole; what is asked of a part, the first letter of a key, in `frozen` is never answered. */
function twoParts(claimsPerCall?: number, whole = false) {
  const runtime = new FakeRuntime()
  const store = memory({ runtime })
  const frozen = new Set<string>()
  const sent: { call: string; keys: string[] }[] = []
  const pass = <C extends 'attempt' | 'renew' | 'release'>(call: C): Store[C] =>
    ((claims: Parameters<Store[C]>[0]) => {
      sent.push({ call, keys: claims.map(({ key }) => key) })
      if (claims.some(({ key }) => frozen.has(key[0] as string))) return new Promise(() => {})
      return store[call](claims)
    }) as Store[C]
  const parted: Store = {
    ...store,
    traits: { ...store.traits, immediate: false },
    attempt: pass('attempt'),
    renew: pass('renew'),
    release: pass('release'),
    notices: (listener) => store.notices(listener),
    ...(!whole && { partOf: (key: string) => key[0] as string }),
    ...(claimsPerCall !== undefined && { claimsPerCall }),
    close: () => store.close(),
  }
  const locks = createLocks({ store: parted, runtime, ttl: 3000, callTimeout: 500 })
  onTestFinished(() => runtime.until(locks.close()))
  return { runtime, locks, frozen, sent }
}

test('claims of different parts travel in calls of their own', async () => {
  const { runtime, locks, sent } = twoParts()
  await runtime.until(Promise.all(['a1', 'b1', 'a2', 'b2'].map((key) => locks.acquire(key))))
  expect(sent).toEqual([
    { call: 'attempt', keys: ['a1', 'a2'] },
    { call: 'attempt', keys: ['b1', 'b2'] },
  ])
})

test('many claims travel in several calls, each answered by itself', async () => {
  const { runtime, locks, sent } = twoParts(2)
  const keys = ['a1', 'a2', 'a3', 'b1', 'a4', 'a5']
  const leases = await runtime.until(Promise.all(keys.map((key) => locks.acquire(key))))
  expect(leases.map(({ key }) => key)).toEqual(keys)
  expect(sent.map(({ keys }) => keys)).toEqual([['a1', 'a2'], ['a3', 'a4'], ['a5'], ['b1']])
})

test('a full call goes out while the next claims of the tick are still being made', async () => {
  const { runtime, locks, sent } = twoParts(2, true)
  const leases = ['a1', 'b1', 'a2'].map((key) => locks.acquire(key))
  expect(sent).toEqual([{ call: 'attempt', keys: ['a1', 'b1'] }])
  const held = await runtime.until(Promise.all(leases))
  expect(sent.slice(1)).toEqual([{ call: 'attempt', keys: ['a2'] }])
  const released: string[] = []
  locks.on('released', ({ key }) => released.push(key))
  await runtime.until(Promise.all(held.map((lease) => lease.release())))
  expect(released).toEqual(['a1', 'b1', 'a2'])
  expect(sent.slice(2).map(({ keys }) => keys)).toEqual([['a1', 'b1'], ['a2']])
})

test.each([false, true])('a group is never cut', async (whole) => {
  const { runtime, locks, sent } = twoParts(2, whole)
  await runtime.until(locks.all(['a1', 'a2', 'a3']))
  expect(sent).toEqual([{ call: 'attempt', keys: ['a1', 'a2', 'a3'] }])
})

test('a group stays in one call, wherever its keys are', async () => {
  const { runtime, locks, sent } = twoParts()
  const group = await runtime.until(locks.all(['a1', 'b1']))
  expect(group.leases.map(({ key }) => key)).toEqual(['a1', 'b1'])
  expect(sent).toEqual([{ call: 'attempt', keys: ['a1', 'b1'] }])
})

test('a part that does not answer takes neither the claims nor the leases of another', async () => {
  const { runtime, locks, frozen } = twoParts()
  const [a, b] = await runtime.until(Promise.all([locks.acquire('a1'), locks.acquire('b1')]))
  frozen.add('a')
  const claims = Promise.allSettled([locks.acquire('a2', { wait: 0 }), locks.acquire('b2', { wait: 0 })])
  const [stuck, granted] = await runtime.until(claims)
  expect(stuck).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
  expect(granted.status).toBe('fulfilled')
  await runtime.advance(10_000)
  expect([a.held, b.held]).toEqual([false, true])
})

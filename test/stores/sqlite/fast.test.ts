import { expect, test } from 'vitest'
import type { Claim } from '../../../src/model/index.ts'
import { claimOf } from './claims.ts'
import { ask, letGo, Machine, take } from './world.ts'

// Cases that the one-statement paths must leave to the model: rare in random plans, so by example too.

const permits: Claim['mode'] = { kind: 'permits', limit: 2, weight: 1 }

test('the release of the last hold does not open a key that a lock delay keeps closed', async () => {
  const machine = new Machine()
  const store = machine.open()
  await take(store, claimOf('k', { mode: permits, ttlMs: 100, lockDelayMs: 600 }))
  const other = claimOf('k', { mode: permits })
  await take(store, other)
  await machine.runtime.advance(100)
  await store.renew([other])
  expect(await letGo(store, other)).toBe('released')
  expect((await ask(store, claimOf('k', { mode: permits, queue: false }))).kind).toBe('blocked')
  await machine.runtime.advance(600)
  expect((await ask(store, claimOf('k', { mode: permits }))).kind).toBe('granted')
})

test('the release of one claim of an owner leaves its other one', async () => {
  const store = new Machine().open()
  const [one, two] = [claimOf('k', { owner: 'o' }), claimOf('k', { owner: 'o' })]
  expect(await take(store, one)).toBe(await take(store, two))
  expect(await letGo(store, one)).toBe('released')
  expect((await ask(store, claimOf('k', { queue: false }))).kind).toBe('blocked')
  expect(await letGo(store, two)).toBe('released')
  expect((await ask(store, claimOf('k'))).kind).toBe('granted')
})

test('tokens rise although another process has a wall clock that stands behind', async () => {
  const machine = new Machine()
  const [one, other] = [machine.open(), machine.open()]
  const claim = claimOf('k')
  const token = await take(one, claim)
  await letGo(one, claim)
  machine.runtime.shiftWall(-60_000)
  const next = claimOf('k')
  const nextToken = await take(other, next)
  expect(nextToken).toBeGreaterThan(token)
  await letGo(other, next)
  expect(await take(one, claimOf('k'))).toBeGreaterThan(nextToken)
})

test('a release after the expiry is absent, and the lock delay begins', async () => {
  const machine = new Machine()
  const store = machine.open()
  const claim = claimOf('k', { ttlMs: 100, lockDelayMs: 50 })
  await take(store, claim)
  await machine.runtime.advance(100)
  expect(await letGo(store, claim)).toBe('absent')
  expect((await ask(store, claimOf('k', { queue: false }))).kind).toBe('blocked')
  await machine.runtime.advance(50)
  expect((await ask(store, claimOf('k'))).kind).toBe('granted')
})

test('a claim that asks for more permits than there are is not granted on a free key', async () => {
  const store = new Machine().open()
  const claim = claimOf('k', { mode: { kind: 'permits', limit: 2, weight: 3 }, queue: false })
  expect((await ask(store, claim)).kind).toBe('refused')
})

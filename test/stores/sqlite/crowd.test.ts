import { expect, test } from 'vitest'
import { claimOf } from './claims.ts'
import { ask, letGo, Machine, noticesOf, take } from './world.ts'

const CROWD = 2000

test('two thousand waiters of one key are served in their order, one by each release', async () => {
  const store = new Machine().open()
  const told = noticesOf(store)
  const claims = Array.from({ length: CROWD }, () => claimOf('k', { ttlMs: 3_600_000 }))
  const [first, ...rest] = claims
  let token = await take(store, first as never)
  for (const claim of rest) expect((await ask(store, claim)).kind).toBe('blocked')
  expect((await told.next()).kind).toBe('contended')
  expect((await store.admin.read('k')).queue).toHaveLength(CROWD - 1)
  for (const [place, claim] of rest.entries()) {
    expect(await letGo(store, claims[place] as never)).toBe('released')
    const granted = await told.next()
    expect(granted).toMatchObject({ kind: 'granted', id: claim.id, contended: place < CROWD - 2 })
    if (granted.kind !== 'granted' || granted.token === null) throw new Error('no token')
    expect(granted.token).toBeGreaterThan(token)
    token = granted.token
  }
  expect((await store.renew([claims[0] as never]))[0]).toEqual({ kind: 'lost' })
}, 120_000)

test('two thousand readers that came one by one keep their holds by renewals, and a writer waits for the last', async () => {
  const machine = new Machine()
  const store = machine.open()
  const readers = Array.from({ length: CROWD }, () => claimOf('k', { mode: { kind: 'shared' }, ttlMs: 1000 }))
  for (const reader of readers) await take(store, reader)
  for (let round = 0; round < 3; round++) {
    await machine.runtime.advance(900)
    const answers = await store.renew(readers)
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['renewed']))
  }
  const writer = claimOf('k')
  expect((await ask(store, writer)).kind).toBe('blocked')
  await store.release(readers.slice(1))
  expect((await ask(store, writer)).kind).toBe('blocked')
  await store.release(readers.slice(0, 1))
  expect((await ask(store, writer)).kind).toBe('granted')
}, 120_000)

test('more holders that die at once than one step removes are dead all the same', async () => {
  const machine = new Machine()
  const store = machine.open()
  const readers = Array.from({ length: 600 }, () => claimOf('k', { mode: { kind: 'shared' }, ttlMs: 1000 }))
  await store.attempt(readers)
  await machine.runtime.advance(1000)
  expect((await store.renew(readers.slice(-1)))[0]).toEqual({ kind: 'lost' })
  const writer = claimOf('k')
  const answers: string[] = []
  for (let tries = 0; tries < 4 && answers.at(-1) !== 'granted'; tries++)
    answers.push((await ask(store, writer)).kind)
  expect(answers.at(-1)).toBe('granted')
})

import { StoreError } from 'holdfast'
import { expect, test } from 'vitest'
import { claimOf } from './claims.ts'
import { Machine } from './world.ts'

test('answers are immediate as long as no other process has the database', () => {
  const store = new Machine().open()
  const claim = claimOf('k')
  expect(store.attempt([claim])).toMatchObject([{ kind: 'granted' }])
  expect(store.renew([claim])).toEqual([{ kind: 'renewed', contended: false }])
  expect(store.release([claim])).toEqual([{ kind: 'released' }])
})

test('while another process has it, calls wait off the event loop and are served in order', async () => {
  const machine = new Machine()
  const store = machine.open()
  const other = machine.database()
  other.exec('BEGIN IMMEDIATE')
  const claim = claimOf('k')
  const order: string[] = []
  const calls = [
    Promise.resolve(store.attempt([claim])).then((answers) => order.push(`claim ${answers[0]?.kind}`)),
    Promise.resolve(store.release([claim])).then((answers) => order.push(`release ${answers[0]?.kind}`)),
    Promise.resolve(store.admin.read('k')).then(({ holders }) => order.push(`read ${holders.length}`)),
  ]
  await machine.runtime.advance(100)
  expect(order).toEqual([])
  other.exec('COMMIT')
  await machine.runtime.until(Promise.all(calls))
  expect(order).toEqual(['claim granted', 'release released', 'read 0'])
  expect(store.attempt([claimOf('k')]), 'and then at once again').toMatchObject([{ kind: 'granted' }])
})

test('a database that others keep for seconds is an error, and nothing was done', async () => {
  const machine = new Machine()
  const store = machine.open()
  const other = machine.database()
  other.exec('BEGIN IMMEDIATE')
  const failed = Promise.resolve(store.attempt([claimOf('k')])).catch((error: unknown) => error)
  const error = await machine.runtime.until(failed)
  expect(error).toBeInstanceOf(StoreError)
  expect((error as Error).message).toContain(
    `${JSON.stringify(machine.path)} was locked by others for 5000 ms`,
  )
  other.exec('ROLLBACK')
  expect(store.admin.read('k')).toMatchObject({ holders: [], queue: [] })
  expect(machine.runtime.pendingTimers).toBe(0)
})

test('closing rejects waiting calls and all later ones', async () => {
  const machine = new Machine()
  const store = machine.open()
  const other = machine.database()
  other.exec('BEGIN IMMEDIATE')
  const waiting = Promise.resolve(store.attempt([claimOf('k')])).catch((error: unknown) => error)
  await store.close()
  expect(await waiting).toMatchObject({ code: 'CLOSED' })
  expect(() => store.attempt([claimOf('k')])).toThrow(/closed/)
  await machine.runtime.advance(1000)
  expect(machine.runtime.pendingTimers).toBe(0)
  await store.close()
})

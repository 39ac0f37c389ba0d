import { UnsupportedError } from 'holdfast'
import { expect, test } from 'vitest'
import { claimOf } from './claims.ts'
import { ask, letGo, Machine, take } from './world.ts'

test('a file of a newer format is refused, clearly and untouched', async () => {
  const machine = new Machine()
  await machine.open().close()
  machine.database().exec("UPDATE holdfast_meta SET value = '2' WHERE name = 'format'")
  expect(() => machine.open()).toThrow(UnsupportedError)
  expect(() => machine.open()).toThrow(/in format 2, .* up to 1: upgrade holdfast/)
})

test('a key that a newer process has written is refused by one that is still running', async () => {
  const machine = new Machine()
  const store = machine.open()
  await take(store, claimOf('k'))
  machine.database().exec("UPDATE holdfast_keys SET state = replace(state, '[1,', '[2,')")
  await expect(async () => ask(store, claimOf('k'))).rejects.toThrow(UnsupportedError)
  expect((await ask(store, claimOf('other'))).kind, 'and the connection is usable').toBe('granted')
})

test('the tables live beside those of others in one file', async () => {
  const machine = new Machine()
  machine.database().exec('CREATE TABLE keys (a); INSERT INTO keys VALUES (1)')
  const store = machine.open()
  const claim = claimOf('k')
  await take(store, claim)
  expect(await letGo(store, claim)).toBe('released')
  expect(machine.database().prepare('SELECT a FROM keys').all()).toHaveLength(1)
})

test('the database has a write-ahead log and waits for nobody inside SQLite', () => {
  const machine = new Machine()
  machine.open()
  expect(machine.database().prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
})

import { expect, test } from 'vitest'
import { claimOf } from './claims.ts'
import { letGo, Machine, take } from './world.ts'

test('claims of a group are granted together or not at all, and leave nothing behind', async () => {
  const machine = new Machine()
  const [store, other] = [machine.open(), machine.open()]
  const taken = claimOf('b')
  await take(other, taken)
  const group = ['a', 'b', 'c'].map((key) => claimOf(key, { group: 'g' }))
  expect((await store.attempt(group)).map(({ kind }) => kind)).toEqual(['blocked', 'blocked', 'blocked'])
  for (const key of ['a', 'c'])
    expect(await other.admin.read(key)).toMatchObject({ holders: [], queue: [], token: null })
  expect((await other.admin.read('b')).queue).toEqual([])
  await letGo(other, taken)
  expect((await store.attempt(group)).map(({ kind }) => kind)).toEqual(['granted', 'granted', 'granted'])
  expect((await store.release(group)).map(({ kind }) => kind)).toEqual(['released', 'released', 'released'])
})

test('a failure in the middle of a batch undoes all of it', async () => {
  const machine = new Machine()
  const store = machine.open()
  machine.database().exec(`
    CREATE TRIGGER broken BEFORE INSERT ON holdfast_locks WHEN NEW.key = 'broken' AND NEW.at > 0
    BEGIN SELECT RAISE(ABORT, 'broken'); END`)
  const batch = [claimOf('a'), claimOf('broken'), claimOf('c')]
  await expect(async () => store.attempt(batch)).rejects.toThrow('broken')
  for (const key of ['a', 'c']) expect((await store.admin.read(key)).holders).toEqual([])
  await take(store, claimOf('a'))
})

test('list shows the keys in use, page by page, and nothing of the free ones', async () => {
  const machine = new Machine()
  const store = machine.open()
  const names = Array.from({ length: 1203 }, (_, n) => `list:${String(n).padStart(5, '0')}`)
  const claims = names.map((key) => claimOf(key))
  await store.attempt([...claims, claimOf('lisa'), claimOf('list;'), claimOf('list:é\u{1f512}')])
  await store.release(claims.filter((_, n) => n % 2 === 1))
  const seen: string[] = []
  const reading = (async () => {
    for await (const { key } of store.admin.list('list:')) seen.push(key)
  })()
  await machine.runtime.until(reading)
  expect(seen).toEqual([...names.filter((_, n) => n % 2 === 0), 'list:é\u{1f512}'])
})

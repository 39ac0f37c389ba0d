import { createLocks, UnsupportedError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import type { SqliteDatabase } from '../../../src/stores/sqlite/binding.ts'
import { claimOf } from './claims.ts'
import { ask, FIRST_BOOT, letGo, Machine, take } from './world.ts'

test('a file of a newer format is refused, clearly and untouched', async () => {
  const machine = new Machine()
  await machine.open().close()
  machine.database().exec("UPDATE holdfast_meta SET value = '3' WHERE name = 'format'")
  expect(() => machine.open()).toThrow(UnsupportedError)
  expect(() => machine.open()).toThrow(/in format 3, .* up to 2: upgrade holdfast/)
})

test('a key that a newer process has written is refused by one that is still running', async () => {
  const machine = new Machine()
  const store = machine.open()
  await take(store, claimOf('k'))
  machine.database().exec('UPDATE holdfast_locks SET format = 3')
  const refusal = { reason: 'format', message: expect.stringMatching(/in format 3, .* up to 2: upgrade/) }
  expect(await ask(store, claimOf('k'))).toMatchObject({ kind: 'refused', ...refusal })
  const locks = createLocks({ store })
  await expect(locks.acquire('k')).rejects.toThrow(UnsupportedError)
  await expect(locks.read('k')).rejects.toThrow(UnsupportedError)
  await expect(locks.evict('k')).rejects.toThrow(UnsupportedError)
  expect((await ask(store, claimOf('other'))).kind, 'and the connection is usable').toBe('granted')
})

describe('one key among many that a newer process has written', () => {
  const KEYS = Array.from({ length: 50 }, (_, place) => `key ${place}`)
  const ODD = 'key 17'
  const notOdd = <T>(each: T, place: number): T[] => (KEYS[place] === ODD ? [] : [each])

  async function upgraded() {
    const machine = new Machine()
    const store = machine.open()
    const claims = KEYS.map((key) => claimOf(key))
    for (const { kind } of await store.attempt(claims)) expect(kind).toBe('granted')
    const database = machine.database()
    database.prepare('UPDATE holdfast_locks SET format = 3 WHERE key = ?').run(ODD)
    const row = () => database.prepare('SELECT * FROM holdfast_locks WHERE key = ?').get(ODD)
    return { machine, store, claims, row, written: row() }
  }

  test('costs no other key a renewal, a release or a claim, and is left as it is', async () => {
    const { machine, store, claims, row, written } = await upgraded()
    await machine.runtime.advance(6000)
    const renewed = await store.renew(claims)
    expect(renewed[17]).toMatchObject({ kind: 'unknown', error: expect.any(UnsupportedError) })
    for (const { kind } of renewed.flatMap(notOdd)) expect(kind).toBe('renewed')
    await machine.runtime.advance(6000)
    for (const { kind } of (await store.renew(claims)).flatMap(notOdd))
      expect(kind, 'past the first ttl').toBe('renewed')
    const released = await store.release(claims)
    expect(released[17]).toMatchObject({ kind: 'unknown', error: expect.any(UnsupportedError) })
    for (const { kind } of released.flatMap(notOdd)) expect(kind).toBe('released')
    const claimed = await store.attempt(KEYS.map((key) => claimOf(key)))
    expect(claimed[17]).toMatchObject({ kind: 'refused', reason: 'format' })
    for (const { kind } of claimed.flatMap(notOdd)) expect(kind).toBe('granted')
    expect(row()).toEqual(written)
  })

  test('blocks its own group, and no other claim', async () => {
    const { store, row, written } = await upgraded()
    const keys = ['alone', 'a', ODD, 'b', 'last']
    const claims = keys.map((key, place) => claimOf(key, { group: place % 4 === 0 ? null : 'g' }))
    const answers = await store.attempt(claims)
    expect(answers.map(({ kind }) => kind)).toEqual(['granted', 'blocked', 'refused', 'blocked', 'granted'])
    expect((await ask(store, claimOf('a'))).kind, 'nothing was left behind').toBe('granted')
    expect(row()).toEqual(written)
  })

  test('is listed with the others, and the doctor continues past it', async () => {
    const { store } = await upgraded()
    const locks = createLocks({ store })
    const shown = new Map<string, string | undefined>()
    for await (const { key, holders } of locks.list()) shown.set(key, holders[0]?.label)
    expect([...shown.keys()]).toEqual(KEYS.toSorted())
    expect([...shown].filter(([, label]) => label !== 'tester')).toEqual([
      [ODD, 'another version of Holdfast'],
    ])
    expect((await locks.doctor({ watch: 0 })).keys).toBe(KEYS.length)
  })
})

/** A file as format 1 had it, with one key that was granted and one that is held. */
function fileOfFormat1(machine: Machine, boot = FIRST_BOOT.id): SqliteDatabase {
  const database = machine.database()
  database.exec(`
    CREATE TABLE holdfast_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO holdfast_meta VALUES ('format', '1');
    CREATE TABLE holdfast_keys (key TEXT PRIMARY KEY, boot TEXT NOT NULL, at INTEGER NOT NULL, seq INTEGER NOT NULL, holder TEXT,
      expires_at INTEGER NOT NULL, state TEXT, forget_at INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO holdfast_keys VALUES ('free', '${boot}', 5000000, 9000000000000000, NULL, 0, NULL, 5000000000);
    INSERT INTO holdfast_keys VALUES ('held', '${boot}', 5000000, 7, 'a', 5010000,
      '[1,[[null,"x",null,[["a",5010000,5000000,"app",null,null,500,null]]]],[],0]', 5000000000)`)
  return database
}

test('a file of format 1 in which a key is held is refused, and left as it is', async () => {
  const machine = new Machine()
  const database = fileOfFormat1(machine)
  await machine.runtime.advance(10_499)
  expect(() => machine.open()).toThrow(/in format 1, and "held" is in use: stop the processes/)
  expect(database.prepare("SELECT value FROM holdfast_meta WHERE name = 'format'").get()).toEqual({
    value: '1',
  })
  expect(database.prepare('SELECT count(*) AS rows FROM holdfast_keys').get()).toEqual({ rows: 2 })
})

test('a file of format 1 in which nothing is held any more is upgraded, and tokens rise', async () => {
  const machine = new Machine()
  fileOfFormat1(machine)
  await machine.runtime.advance(10_500)
  const store = machine.open()
  expect(await take(store, claimOf('free'))).toBe(9_000_000_000_000_001n * 256n)
  expect((await ask(store, claimOf('held'))).kind).toBe('granted')
})

test('a hold of another boot in a file of format 1 is dead', async () => {
  const machine = new Machine()
  fileOfFormat1(machine, 'boot-a')
  expect((await ask(machine.open(), claimOf('held'))).kind).toBe('granted')
})

test('a process of format 1 that still has the file open takes no lock in it, and its error says why', async () => {
  const machine = new Machine()
  const database = fileOfFormat1(machine)
  const claim = database.prepare(
    `INSERT INTO holdfast_keys (key, boot, at, seq, holder, expires_at, state, forget_at) VALUES (?, 'b', 1, 1, 'b', 1, '[1]', 1)
    ON CONFLICT (key) DO UPDATE SET holder = excluded.holder WHERE state IS NULL`,
  )
  claim.run('other')
  database.exec("DELETE FROM holdfast_keys WHERE key = 'other'")
  await machine.runtime.advance(10_500)
  machine.open()
  for (const key of ['free', 'new']) expect(() => claim.run(key)).toThrow(/format 2: upgrade holdfast/)
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

test('the database has a write-ahead log and never waits inside SQLite', () => {
  const machine = new Machine()
  machine.open()
  expect(machine.database().prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
})

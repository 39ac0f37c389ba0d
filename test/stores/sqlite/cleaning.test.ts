import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Records, Store } from '../../../src/core/store.ts'
import { claimOf } from './claims.ts'
import { FIRST_BOOT, letGo, Machine, take } from './world.ts'

const HOUR_MS = 3_600_000

function rows(machine: Machine, table = 'holdfast_locks'): number {
  const row = machine.database().prepare(`SELECT count(*) AS rows FROM ${table}`).get()
  return (row as { rows: number }).rows
}

async function use(store: Store, key: string): Promise<bigint> {
  const claim = claimOf(key)
  const token = await take(store, claim)
  await letGo(store, claim)
  return token
}

/** Takes and releases so many keys, hundreds of them in each call. */
async function useMany(store: Store, name: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += 250) {
    const claims = Array.from({ length: Math.min(250, count - first) }, (_, n) =>
      claimOf(`${name}:${first + n}`),
    )
    await store.attempt(claims)
    await store.release(claims)
  }
}

test('the last token of a key is kept for a day, and then its row is removed', async () => {
  const machine = new Machine()
  const store = machine.open()
  for (let n = 0; n < 200; n++) await use(store, `old:${n}`)
  expect(rows(machine)).toBe(200)
  await machine.runtime.advance(24 * HOUR_MS - 1)
  for (let n = 0; n < 100; n++) await use(store, 'busy')
  expect(rows(machine)).toBe(201)
  await machine.runtime.advance(HOUR_MS + 1)
  for (let n = 0; n < 100; n++) await use(store, 'busy')
  expect(rows(machine)).toBe(1)
})

test('a busy key outlives the day of its first grant', async () => {
  const machine = new Machine()
  const store = machine.open()
  let token = await use(store, 'k')
  for (let hour = 0; hour < 40; hour++) {
    await machine.runtime.advance(HOUR_MS)
    machine.runtime.shiftWall(-HOUR_MS)
    for (let n = 0; n < 30; n++) {
      const next = await use(store, 'k')
      expect(next).toBeGreaterThan(token)
      token = next
    }
  }
})

test('a hold longer than a day is never cleaned away', async () => {
  const machine = new Machine()
  const store = machine.open()
  const claims = [
    claimOf('fast', { ttlMs: 100 * HOUR_MS }),
    claimOf('slow', { ttlMs: HOUR_MS, lockDelayMs: 99 * HOUR_MS }),
  ]
  await take(store, claims[0] as never)
  await store.attempt([claims[1] as never, claimOf('beside')])
  await machine.runtime.advance(99 * HOUR_MS)
  for (let n = 0; n < 100; n++) await use(store, 'busy')
  expect(await store.admin.read('fast')).toMatchObject({ holders: [{ label: 'tester' }] })
  expect((await store.admin.read('slow')).closedForMs).toBe(HOUR_MS)
})

test('rows of another boot move to the new clock, and are then removed too', async () => {
  const machine = new Machine()
  const before = machine.open()
  for (let n = 0; n < 120; n++) await take(before, claimOf(`old:${n}`, { ttlMs: 500 * HOUR_MS }))
  await before.records?.write('forever', '1', null, { kind: 'always' })
  await before.records?.write('long', '1', 30 * HOUR_MS, { kind: 'always' })
  await before.close()
  for (const id of ['boot-a', 'boot-z']) {
    machine.restart(id)
    const after = machine.open()
    for (let n = 0; n < 200; n++) await use(after, 'busy')
    const left = machine.database().prepare('SELECT DISTINCT boot FROM holdfast_locks').all()
    expect(left).toEqual([{ boot: id }])
  }
  expect(rows(machine)).toBe(121)
  const after = machine.open()
  await machine.runtime.advance(25 * HOUR_MS)
  for (let n = 0; n < 100; n++) await use(after, 'busy')
  expect(rows(machine)).toBe(1)
  expect(await after.records?.read('long')).not.toBeNull()
  await machine.runtime.advance(30 * HOUR_MS)
  for (let n = 0; n < 100; n++) await use(after, 'busy')
  expect(await after.records?.read('long')).toBeNull()
  expect(rows(machine, 'holdfast_records'), 'the one that stays').toBe(1)
})

test('clean-up keeps pace with the keys that come, however many travel in one call', async () => {
  const machine = new Machine()
  const store = machine.open()
  await useMany(store, 'old', 2000)
  expect(rows(machine)).toBe(2000)
  await machine.runtime.advance(25 * HOUR_MS)
  await useMany(store, 'new', 1000)
  expect(rows(machine)).toBeLessThan(1100)
})

test('clean-up keeps pace with the records that come, however many travel in one call', async () => {
  const machine = new Machine()
  const records = machine.open().records as Required<Records>
  const writeMany = async (name: string, count: number) => {
    for (let first = 0; first < count; first += 250)
      await records.writeAll(
        Array.from({ length: 250 }, (_, n) => {
          return { key: `${name}:${first + n}`, value: 'x', ttlMs: 1000, condition: { kind: 'always' } }
        }),
      )
  }
  await writeMany('old', 2000)
  await machine.runtime.advance(1001)
  await writeMany('ends the values', 1000)
  await machine.runtime.advance(25 * HOUR_MS)
  await writeMany('ends the versions', 1000)
  expect(rows(machine, 'holdfast_records')).toBeLessThan(2100)
})

test('list and doctor read the keys in use and no others', async () => {
  const machine = new Machine()
  const store = machine.open()
  await useMany(store, 'free', 300)
  await take(store, claimOf('used'))
  const plan = (sql: string) => JSON.stringify(machine.database().prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
  const page = 'SELECT key FROM holdfast_locks INDEXED BY holdfast_locks_used WHERE holders + waiters > 0'
  expect(plan(`${page} AND key > 'a' ORDER BY key LIMIT 500`)).toContain('INDEX holdfast_locks_used (key>?)')
  // The index has the one key that is used: SQLite cannot visit another.
  const free = machine
    .database()
    .prepare('SELECT count(*) AS rows FROM holdfast_locks WHERE holders + waiters = 0')
    .get()
  expect(free).toEqual({ rows: 300 })
  const listed: string[] = []
  for await (const { key } of store.admin.list('')) listed.push(key)
  expect(listed).toEqual(['used'])
})

test('a million free keys delay neither list nor doctor', async () => {
  const machine = new Machine()
  await machine.open().close()
  const database = machine.database()
  database.exec(`INSERT INTO holdfast_locks (key, format, boot, at, seq, forget_at, closed_until, permits, used, holders, waiters,
      last_ticket, lock_delay, since, expires_at)
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000000)
    SELECT 'free ' || n, 2, '${FIRST_BOOT.id}', 0, 1, 1e15, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n`)
  const store = machine.open()
  await take(store, claimOf('used'))
  // Each page gives way by a timer, and the clock of the test stands still: one page has to be enough.
  const listed: string[] = []
  for await (const { key } of store.admin.list('')) listed.push(key)
  expect(listed).toEqual(['used'])
  const facts: string[] = []
  for await (const { kind } of store.admin.inspect!({ foreign: [], deadForMs: 0, values: false }))
    facts.push(kind)
  expect(facts).toEqual(['unseen'])
}, 120_000)

test('a value is removed when its ttl is over, its version a day later', async () => {
  const machine = new Machine()
  const store = machine.open()
  await store.records?.write('short', 'x'.repeat(50_000), 1000, { kind: 'always' })
  await store.records?.write('stays', 'y', null, { kind: 'always' })
  const found = () => {
    for (let n = 0; n < 30; n++) void store.records?.read('stays')
    return machine
      .database()
      .prepare('SELECT key, value IS NULL AS gone FROM holdfast_records ORDER BY key')
      .all()
  }
  expect(found()).toEqual([
    { key: 'short', gone: 0 },
    { key: 'stays', gone: 0 },
  ])
  await machine.runtime.advance(1001)
  expect(found()).toEqual([
    { key: 'short', gone: 1 },
    { key: 'stays', gone: 0 },
  ])
  await machine.runtime.advance(23 * HOUR_MS)
  expect(found()).toHaveLength(2)
  await machine.runtime.advance(2 * HOUR_MS)
  expect(found()).toEqual([{ key: 'stays', gone: 0 }])
})

test('clean-up uses an index', () => {
  const machine = new Machine()
  machine.open()
  const plan = (sql: string) => JSON.stringify(machine.database().prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
  for (const table of ['holdfast_locks', 'holdfast_records']) {
    const sql = `SELECT key FROM ${table} WHERE`
    expect(plan(`${sql} boot = 'a' AND forget_at <= 1 LIMIT 50`)).toContain(
      `USING COVERING INDEX ${table}_forget`,
    )
    expect(plan(`${sql} boot < 'a' LIMIT 50`)).toContain(`USING COVERING INDEX ${table}_forget`)
  }
})

test('the write-ahead log is restarted as soon as no process reads an old part of it', async () => {
  const machine = new Machine()
  const store = machine.open()
  const megabytes = () => statSync(`${machine.path}-wal`).size / 2 ** 20
  const reader = machine.database()
  await use(store, 'busy')
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM holdfast_locks').get()
  for (let n = 0; n < 9000; n++) await use(store, `k${n % 50}`)
  const grown = megabytes()
  expect(grown).toBeGreaterThan(16)
  reader.exec('COMMIT')
  for (let n = 0; n < 128; n++) await use(store, 'busy')
  const after = megabytes()
  for (let n = 0; n < 4000; n++) await use(store, `k${n % 50}`)
  expect(megabytes(), 'written over, from the beginning').toBe(after)
  expect(after).toBeLessThan(grown + 1)
})

test('a busy file has a log of bounded length', async () => {
  const machine = new Machine()
  const store = machine.open()
  for (let n = 0; n < 20_000; n++) await use(store, `k${n % 50}`)
  expect(statSync(`${machine.path}-wal`).size / 2 ** 20).toBeLessThan(18)
})

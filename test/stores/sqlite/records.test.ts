import { expect, test } from 'vitest'
import type { Records, Store } from '../../../src/core/store.ts'
import { claimOf } from './claims.ts'
import { letGo, Machine, take } from './world.ts'

const ALWAYS = { kind: 'always' } as const
const HOUR_MS = 3_600_000

function recordsOf(store: Store): Records {
  if (store.records === null) throw new Error('no records')
  return store.records
}

async function write(
  records: Records,
  key: string,
  value: string,
  ttlMs: number | null = null,
): Promise<number> {
  const answer = await records.write(key, value, ttlMs, ALWAYS)
  if (answer.kind !== 'written') throw new Error(answer.kind)
  return answer.version
}

test('versions rise over writes, removal, expiry and a wall clock that goes back', async () => {
  const machine = new Machine()
  const records = recordsOf(machine.open())
  const versions = [await write(records, 'r', 'a')]
  machine.runtime.shiftWall(-HOUR_MS)
  versions.push(await write(records, 'r', 'b', 1000))
  expect(await records.remove('r', ALWAYS)).toBe(true)
  expect(await records.read('r')).toBeNull()
  expect(await records.remove('r', ALWAYS)).toBe(false)
  versions.push(await write(records, 'r', 'c', 1000))
  await machine.runtime.advance(1000)
  expect(await records.read('r')).toBeNull()
  versions.push(await write(records, 'r', 'd'))
  expect(versions).toEqual([...versions].sort((a, b) => a - b))
  expect(new Set(versions).size).toBe(4)
})

test.each(['', 'a\0b', '\ud800', '"\\', 'é\u{1f512}', 'x'.repeat(100_000)])(
  'a value comes back as it was (%#)',
  async (value) => {
    const records = recordsOf(new Machine().open())
    await write(records, 'r', value)
    expect((await records.read('r'))?.value).toBe(value)
  },
)

test('conditions are checked in the same step', async () => {
  const machine = new Machine()
  const [one, other] = [recordsOf(machine.open()), recordsOf(machine.open())]
  const version = await write(one, 'r', 'a')
  expect(await other.write('r', 'b', null, { kind: 'absent' })).toMatchObject({
    kind: 'refused',
    current: { value: 'a', version },
  })
  expect(await other.write('r', 'b', null, { kind: 'version', version: version - 1 })).toMatchObject({
    kind: 'refused',
  })
  expect(await other.write('r', 'b', null, { kind: 'version', version })).toMatchObject({ kind: 'written' })
  expect(await one.remove('r', { kind: 'version', version })).toBe(false)
  expect(await one.read('r')).toMatchObject({ value: 'b', expiresAtMs: null })
})

test('a write while a claim is held goes ahead only for the one who holds it now', async () => {
  const machine = new Machine()
  const [store, other] = [machine.open(), machine.open()]
  const records = recordsOf(store)
  const claim = claimOf('k', { ttlMs: 1000 })
  const held = { kind: 'held', key: 'k', id: claim.id } as const
  expect(await records.write('r', 'early', null, held)).toEqual({ kind: 'refused', current: null })
  await take(store, claim)
  expect(await recordsOf(other).write('r', 'mine', null, held)).toMatchObject({ kind: 'written' })
  await machine.runtime.advance(1000)
  expect(await records.write('r', 'expired', null, held)).toMatchObject({
    kind: 'refused',
    current: { value: 'mine' },
  })
  await take(other, claimOf('k'))
  expect(await records.remove('r', held)).toBe(false)
})

test('a claim that only waits does not count as held', async () => {
  const machine = new Machine()
  const store = machine.open()
  const [first, second] = [claimOf('k'), claimOf('k')]
  await take(store, first)
  await store.attempt([second])
  const held = { kind: 'held', key: 'k', id: second.id } as const
  expect(await recordsOf(store).write('r', 'x', null, held)).toMatchObject({ kind: 'refused' })
  await letGo(store, first)
  expect(await recordsOf(store).write('r', 'x', null, held)).toMatchObject({ kind: 'written' })
})

test('stock is taken all or nothing, by count and by unit, and keeps its ttl', async () => {
  const machine = new Machine()
  const records = recordsOf(machine.open())
  await write(records, 'count', '5', 1000)
  expect(await records.take('count', 3)).toMatchObject({ kind: 'taken', units: [], left: 2 })
  expect(await records.take('count', 3)).toEqual({ kind: 'short', left: 2 })
  await write(records, 'units', JSON.stringify(['a', 'b', 'c']))
  expect(await records.take('units', 2)).toMatchObject({ kind: 'taken', units: ['a', 'b'], left: 1 })
  expect(await records.take('nothing', 1)).toEqual({ kind: 'absent' })
  await machine.runtime.advance(1000)
  expect(await records.take('count', 1)).toEqual({ kind: 'absent' })
})

test('a record survives a restart of the machine, and its ttl continues by the wall clock', async () => {
  const machine = new Machine()
  const before = machine.open()
  await write(recordsOf(before), 'short', 'x', HOUR_MS)
  await write(recordsOf(before), 'long', 'y', 3 * HOUR_MS)
  const version = await write(recordsOf(before), 'forever', 'z')
  await before.close()
  machine.restart('boot-b')
  machine.runtime.shiftWall(2 * HOUR_MS)
  const records = recordsOf(machine.open())
  expect(await records.read('short')).toBeNull()
  expect(await records.read('long')).toMatchObject({ value: 'y', expiresAtMs: HOUR_MS })
  expect(await records.read('forever')).toEqual({ value: 'z', version, expiresAtMs: null })
})

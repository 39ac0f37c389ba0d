import { describe, expect, it } from 'vitest'
import {
  alive,
  conditionHolds,
  type RecordState,
  takeFromRecord,
  writtenRecord,
} from '../../src/model/index.ts'
import { records } from './properties/records.ts'
import { prove } from './property.ts'

const clock = { nowMs: 50, stampUs: 1_000_000 }
const record = (value: string, rest: Partial<RecordState> = {}): RecordState => ({
  value,
  version: 7,
  expiresAtMs: null,
  ...rest,
})

describe('records', () => {
  prove(records)

  it('are written with a version from the wall clock, or above the last one when that is behind', () => {
    expect(writtenRecord(0, 'v', null, clock)).toEqual({ value: 'v', version: 1_000_000, expiresAtMs: null })
    expect(writtenRecord(2_000_000, 'v', 10, clock)).toEqual({
      value: 'v',
      version: 2_000_001,
      expiresAtMs: 60,
    })
  })

  it('are gone at the very moment of their expiry', () => {
    expect(alive(record('v', { expiresAtMs: 51 }), 50)).not.toBeNull()
    expect(alive(record('v', { expiresAtMs: 50 }), 50)).toBeNull()
    expect(alive(null, 50)).toBeNull()
  })

  it('are written under a condition', () => {
    const never = () => {
      throw new Error('asked about a claim without need')
    }
    expect(conditionHolds(null, { kind: 'always' }, never)).toBe(true)
    expect(conditionHolds(null, { kind: 'absent' }, never)).toBe(true)
    expect(conditionHolds(record('v'), { kind: 'absent' }, never)).toBe(false)
    expect(conditionHolds(record('v'), { kind: 'version', version: 7 }, never)).toBe(true)
    expect(conditionHolds(record('v'), { kind: 'version', version: 6 }, never)).toBe(false)
    expect(conditionHolds(null, { kind: 'version', version: 7 }, never)).toBe(false)
    expect(conditionHolds(null, { kind: 'held', key: 'k', id: 'a' }, () => true)).toBe(true)
    expect(conditionHolds(record('v'), { kind: 'held', key: 'k', id: 'a' }, () => false)).toBe(false)
  })

  it('give out stock all or nothing', () => {
    const stock = record('3', { expiresAtMs: 99 })
    expect(takeFromRecord(stock, 4, clock)).toEqual({ next: stock, answer: { kind: 'short', left: 3 } })
    const { next, answer } = takeFromRecord(stock, 3, clock)
    expect(answer).toEqual({ kind: 'taken', units: [], left: 0, version: 1_000_000 })
    expect(next).toEqual({ value: '0', version: 1_000_000, expiresAtMs: 99 })
    expect(takeFromRecord(next, 1, clock).answer).toEqual({ kind: 'short', left: 0 })
    expect(takeFromRecord(null, 1, clock)).toEqual({ next: null, answer: { kind: 'absent' } })
  })

  it('give out numbered units from the front', () => {
    const { next, answer } = takeFromRecord(record('["A1","A2","A3"]'), 2, clock)
    expect(answer).toMatchObject({ kind: 'taken', units: ['A1', 'A2'], left: 1 })
    expect(next?.value).toBe('["A3"]')
  })

  it.each(['{}', '"five"', 'null', 'true', '1.5', '1e400', 'five'])(
    'that are no stock are not sold: %s',
    (value) => {
      expect(() => takeFromRecord(record(value), 1, clock)).toThrow()
    },
  )
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { RecordState } from '../../../src/model/index.ts'
import { forAll, type Topic } from '../property.ts'

const clock = fc.record({ nowMs: fc.nat({ max: 1_000 }), stampUs: fc.integer({ min: 1, max: 2 ** 50 }) })
const record = fc.record({
  version: fc.integer({ min: 1, max: 2 ** 50 }),
  expiresAtMs: fc.oneof(fc.constant(null), fc.nat({ max: 1_000 })),
})
const buyers = fc.array(fc.record({ count: fc.integer({ min: 1, max: 5 }), clock }), { maxLength: 20 })

export const records: Topic = {
  'versions rise with every write, whatever the wall clock does': forAll(
    fc.tuple(fc.integer({ min: 0, max: 2 ** 50 }), fc.array(clock, { minLength: 1 })),
    (model, [first, clocks]) => {
      let version = first
      for (const at of clocks) {
        const next = model.writtenRecord(version, 'v', 5, at)
        assert(next.version > version)
        assert.equal(next.expiresAtMs, at.nowMs + 5)
        version = next.version
      }
    },
  ),

  'a record is alive until its time, and without one for ever': forAll(
    fc.tuple(record, fc.nat({ max: 1_000 })),
    (model, [fields, nowMs]) => {
      const state: RecordState = { ...fields, value: 'v' }
      const lives = fields.expiresAtMs === null || nowMs < fields.expiresAtMs
      assert.equal(model.alive(state, nowMs), lives ? state : null)
    },
  ),

  'a count is never oversold, and what was taken and what is left add up': forAll(
    fc.tuple(fc.nat({ max: 30 }), record, buyers),
    (model, [stock, fields, requests]) => {
      let current: RecordState = { ...fields, value: String(stock) }
      let sold = 0
      for (const { count, clock: at } of requests) {
        const { next, answer } = model.takeFromRecord(current, count, at)
        assert(next !== null && answer.kind !== 'absent')
        if (answer.kind === 'taken') {
          sold += count
          assert(next.version > current.version)
          assert.equal(next.version, answer.version)
          assert.deepEqual(answer.units, [])
        } else {
          assert(stock - sold < count, 'short although there was enough')
          assert.equal(next, current)
        }
        assert.equal(answer.left, stock - sold)
        assert.deepEqual(next, { ...current, version: next.version, value: String(stock - sold) })
        current = next
      }
    },
  ),

  'units of a list are given out once each, from its front': forAll(
    fc.tuple(fc.nat({ max: 30 }), record, buyers),
    (model, [size, fields, requests]) => {
      const units = Array.from({ length: size }, (_, place) => `seat ${place}`)
      let current: RecordState = { ...fields, value: JSON.stringify(units) }
      const sold: string[] = []
      for (const { count, clock: at } of requests) {
        const { next, answer } = model.takeFromRecord(current, count, at)
        assert(next !== null)
        if (answer.kind === 'taken') {
          assert.equal(answer.units.length, count)
          sold.push(...answer.units)
        }
        current = next
      }
      assert.deepEqual([...sold, ...(JSON.parse(current.value) as string[])], units)
    },
  ),
}

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Few } from '../../../src/stores/quorum/few.ts'

/** Enough ids that it holds few at times, and many at others. */
const step = fc.record({
  kind: fc.constantFrom('set', 'set', 'delete', 'get', 'clear' as const),
  id: fc.integer({ min: 0, max: 40 }).map(String),
  value: fc.integer(),
})

test('is a map, whether it has few entries or many', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const few = new Few<number>()
      const map = new Map<string, number>()
      for (const [place, { kind, id, value }] of steps.entries()) {
        if (kind === 'set') {
          few.set(id, value)
          map.set(id, value)
        } else if (kind === 'delete') expect(few.delete(id)).toBe(map.delete(id))
        else if (kind === 'get') expect(few.get(id)).toBe(map.get(id))
        else if (place % 50 === 0) {
          few.clear()
          map.clear()
        }
        expect(new Map(few.entries())).toEqual(map)
      }
    }),
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Reader, Writer } from '../../../src/stores/etcd/client/protobuf.ts'

/** The five bytes that gRPC puts before a message. */
const FRAME = 5

const field = fc.integer({ min: 1, max: 100 })
const part = fc.oneof(
  fc.record({ kind: fc.constant('number' as const), field, value: fc.integer({ min: 1, max: 2 ** 50 }) }),
  fc.record({
    kind: fc.constant('text' as const),
    field,
    value: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
  }),
)

describe('messages of etcd', () => {
  it('are read as they were written, with any field skipped', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ part, read: fc.boolean() }), { maxLength: 20 }), (parts) => {
        const writer = new Writer()
        for (const { part } of parts) {
          if (part.kind === 'number') writer.number(part.field, part.value)
          else writer.text(part.field, part.value)
        }
        const reader = new Reader(writer.finish().subarray(FRAME))
        let next = 0
        reader.fields((field) => {
          const { part, read } = parts[next++] as (typeof parts)[number]
          expect(field).toBe(part.field)
          if (read) expect(part.kind === 'number' ? reader.number() : reader.text()).toBe(part.value)
        })
        expect(next).toBe(parts.length)
      }),
    )
  })

  it('hold numbers of 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), (id) => {
        const writer = new Writer()
        writer.number(3, id)
        const reader = new Reader(writer.finish().subarray(FRAME))
        const read: unknown[] = []
        reader.fields((field) => read.push(field, reader.long()))
        expect(read).toEqual([3, id])
      }),
    )
  })

  it('are refused when they end too early', () => {
    const writer = new Writer()
    writer.number(1, 300)
    const bytes = writer.finish().subarray(FRAME)
    const reader = new Reader(bytes.subarray(0, bytes.length - 1))
    expect(() => reader.fields(() => reader.number())).toThrow(RangeError)
  })
})

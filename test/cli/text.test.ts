import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { age, cut, jsonText, neutralise, widthOf } from '../../src/cli/text.ts'

const ESCAPES = [
  '\x1b[2J',
  '\x07',
  '\r',
  '\n',
  '\x7f',
  '\u009b31m',
  '\u202e',
  '\u2066',
  '\u2028',
  '\ud800',
  '\u200b',
]

/** Characters that a terminal may act upon. */
function dangerous(text: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(text)
}

describe('neutralise', () => {
  it.each(ESCAPES.map((text) => [JSON.stringify(text), text]))('makes %s visible', (_, text) => {
    const shown = neutralise(`a${text}b`)
    expect(dangerous(shown)).toBe(false)
    expect(shown).toMatch(/^a\\.+b$/)
  })

  it('leaves ordinary text of any language alone', () => {
    const text = 'order:42 Straße 注文 заказ 🛒'
    expect(neutralise(text)).toBe(text)
  })

  it('leaves nothing dangerous in any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !dangerous(neutralise(text))))
  })
})

describe('jsonText', () => {
  it('is the same value again, with tokens as strings', () => {
    const text = jsonText({ key: ESCAPES.join('|'), token: 457882312345678901n, none: null })
    expect(JSON.parse(text)).toEqual({ key: ESCAPES.join('|'), token: '457882312345678901', none: null })
  })

  it('has no control character but its own line breaks', () => {
    expect(dangerous(jsonText([ESCAPES.join('|')]).replaceAll('\n', ''))).toBe(false)
  })
})

describe('cut', () => {
  it('never takes more columns than it may, also with wide characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, columns) => {
        expect(widthOf(cut(text, columns))).toBeLessThanOrEqual(columns)
      }),
    )
  })

  it('marks where it cut', () => {
    expect(cut('order:42', 6)).toBe('order…')
    expect(cut('注文番号', 5)).toBe('注文…')
    expect(cut('order', 5)).toBe('order')
  })
})

it.each([
  [-5, '0 ms'],
  [340, '340 ms'],
  [12_900, '12 s'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [11_400_000, '3 h 10 min'],
  [360_000_000, '4 d 4 h'],
])('says %i ms as %s', (milliseconds, text) => {
  expect(age(milliseconds)).toBe(text)
})

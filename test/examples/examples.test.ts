import { describe, expect, it } from 'vitest'
import { exampleOf, examples, patternOf, run } from './example.ts'

describe('examples print what their headers say', () => {
  const all = examples()

  it('are found', () => {
    expect(all.map(({ file }) => file)).toContain('first-lock.ts')
  })

  it.each(all)('$file', async ({ file, prints }) => {
    const { code, lines, errors } = await run(file)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(lines).toEqual(prints.map((line) => expect.stringMatching(patternOf(line))))
  })
})

describe('the check of an example', () => {
  const header = '// Shows: one thing,\n//        and more.\n// Run:   node --import tsx examples/x.ts\n'

  it('reads the header', () => {
    expect(exampleOf('x.ts', `${header}// Prints:\n//   a … b\ncode()\n`)).toEqual({
      file: 'x.ts',
      shows: 'one thing, and more.',
      prints: ['a … b'],
    })
  })

  it.each([
    ['nothing about what it shows', 'code()\n'],
    ['no line that it prints', `${header}// Prints:\ncode()\n`],
    ['no word on printing', `${header}code()\n`],
    ['another file', `${header.replace('x.ts', 'y.ts')}// Prints:\n//   a\n`],
  ])('refuses a header with %s', (_, source) => {
    expect(() => exampleOf('x.ts', source)).toThrow('x.ts does not')
  })

  it('lets only the ellipsis differ', () => {
    expect('held for 12 ms (a.b)').toMatch(patternOf('held for … ms (a.b)'))
    expect('held for 12 ms (a-b)').not.toMatch(patternOf('held for … ms (a.b)'))
    expect('and held for 12 ms').not.toMatch(patternOf('held for … ms'))
  })
})

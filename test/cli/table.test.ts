import { expect, it } from 'vitest'
import { table } from '../../src/cli/table.ts'
import { widthOf } from '../../src/cli/text.ts'

const COLUMNS = [
  { title: 'KEY', atLeast: 4 },
  { title: 'HELD BY', atLeast: 5 },
  { title: 'FOR', align: 'right' },
] as const
const ROWS = [
  ['order:42', 'web1:4711', '12 s'],
  ['注文:42', 'web2:17', '3 s'],
]

it('aligns columns by their width on the terminal', () => {
  expect(table(COLUMNS, ROWS)).toEqual([
    'KEY       HELD BY     FOR',
    'order:42  web1:4711  12 s',
    '注文:42   web2:17     3 s',
  ])
})

it('fits the terminal by cutting the widest column first', () => {
  const lines = table(COLUMNS, ROWS, 20)
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(20)
  expect(lines[1]).toBe('order…  web1:…  12 s')
})

it('leaves columns out, the least needed first, before it cuts the others too far', () => {
  const columns = COLUMNS.map((column, at) => (at === 0 ? column : { ...column, drop: 3 - at }))
  expect(table(columns, ROWS, 17)[1]).toBe('ord…  web1…  12 s')
  expect(table(columns, ROWS, 16)[1]).toBe('order:…  web1:4…')
  expect(table(columns, ROWS, 10)).toEqual(['KEY', 'order:42', '注文:42'])
  expect(table(columns, ROWS, 0)).toEqual(table(columns, ROWS))
})

it('keeps every column readable when the terminal is too narrow for all', () => {
  expect(table(COLUMNS, ROWS, 1)[1]).toBe('ord…  web1…  12 s')
})

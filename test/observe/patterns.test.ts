import { expect, test } from 'vitest'
import { Collector, keyPattern } from '../../src/observe/index.ts'

test.each([
  ['stock', 'stock'],
  ['order:42', 'order:*'],
  ['order:42:line:7', 'order:*:line:*'],
  ['2026-11-16/report', '*-*-*/report'],
  ['sku12345', 'sku*'],
  ['v2:sku7', 'v*:sku*'],
  ['cart:3f2a9c1e', 'cart:*'],
  ['cart:3f2a9c1e-1b2c-4d5e-8f90-abcdefabcdef', 'cart:*'],
  ['cart:abcdefab-abcd-abcd-abcd-abcdefabcdef:x', 'cart:*:x'],
  ['user:01ARZ3NDEKTSV4RRFFQ69G5FAV', 'user:*'],
  ['user:V1StGXR8', 'user:*'],
  ['{42}:stock', '{*}:stock'],
  ['warenkorb:ä7', 'warenkorb:ä*'],
  ['deadbeef', 'deadbeef'],
  ['x'.repeat(400), `${'x'.repeat(99)}…`],
])('%s is counted as %s', (key, pattern) => {
  expect(keyPattern(key)).toBe(pattern)
})

test('patterns are bounded: what comes later is counted as other', () => {
  const collector = new Collector({ keyPattern: (key) => key, maxPatterns: 2 })
  const patterns = ['a', 'b', 'c', 'd', 'a'].map((key) => collector.seriesOf(key).pattern)
  expect(patterns).toEqual(['a', 'b', 'other', 'other', 'a'])
})

test('keys without end find their series again, and cost no more memory than a bounded number of them', () => {
  const collector = new Collector()
  for (let key = 0; key < 50_000; key++) collector.seriesOf(`order:${key}`).granted++
  expect([...collector.series()].map(({ pattern, granted }) => [pattern, granted])).toEqual([
    ['order:*', 50_000],
  ])
})

test('a function for patterns that fails does not fail the lock', () => {
  const collector = new Collector({
    keyPattern: () => {
      throw new Error('no pattern')
    },
  })
  expect(collector.seriesOf('a').pattern).toBe('other')
})

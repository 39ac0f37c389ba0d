import { describe, expect, it } from 'vitest'
import { readDuration } from '../../src/cli/arguments.ts'
import { UsageError } from '../../src/cli/exit.ts'
import { planOf } from '../../src/cli/run/plan.ts'
import { nearest } from '../../src/core/nearest.ts'

describe('planOf', () => {
  it('reads everything before -- as ours and everything after it as the command', () => {
    expect(
      planOf(['order:42', '--ttl', '30s', '--wait=1m', '-q', '--', 'sh', '-c', 'exit 3', '--', '--ttl']),
    ).toEqual({
      key: 'order:42',
      command: ['sh', '-c', 'exit 3', '--', '--ttl'],
      store: undefined,
      ttlMs: 30_000,
      waitMs: 60_000,
      graceMs: 10_000,
      mode: { kind: 'exclusive' },
      quiet: true,
    })
  })

  it.each([
    [['k', '--no-wait', '--', 'true'], { waitMs: 0 }],
    [['k', '--wait', 'forever', '--', 'true'], { waitMs: Number.POSITIVE_INFINITY }],
    [['k', '--shared', '--', 'true'], { mode: { kind: 'shared' } }],
    [['k', '--limit', '3', '--', 'true'], { mode: { kind: 'permits', limit: 3 } }],
    [['k', '--grace', '0s', '--', 'true'], { graceMs: 0 }],
    [['k', '--grace', 'forever', '--', 'true'], { graceMs: Number.POSITIVE_INFINITY }],
    [['k', '--', 'true'], { ttlMs: 10_000, waitMs: 10_000, graceMs: 10_000 }],
  ])('%j', (args, part) => {
    expect(planOf(args)).toMatchObject(part)
  })

  it.each([
    [['k', 'true'], /put it after --/],
    [['k', '--'], /no command after --/],
    [['--', 'true'], /KEY is missing/],
    [['a', 'b', '--', 'true'], /unexpected argument "b"/],
    [['k', '--wait', '1s', '--no-wait', '--', 'true'], /contradict/],
    [['k', '--shared', '--limit', '2', '--', 'true'], /contradict/],
    [['k', '--limit', '0', '--', 'true'], /at least 1/],
    [['k', '--limit', '2.5', '--', 'true'], /at least 1/],
    [['k', '--ttl', '30', '--', 'true'], /--ttl "30" is not a duration/],
    [['k', '--ttl', 'forever', '--', 'true'], /not a duration/],
    [['k', '--tll', '3s', '--', 'true'], /no option --tll; did you mean --ttl\?/],
    [['k', '--json', '--', 'true'], /no option --json/],
    [['k', '--ttl', '--', 'true'], /--ttl/],
  ])('refuses %j', (args, message) => {
    expect(() => planOf(args)).toThrow(UsageError)
    expect(() => planOf(args)).toThrow(message)
  })
})

it.each([
  ['250ms', 250],
  ['1.5s', 1_500],
  ['5m', 300_000],
  ['1h', 3_600_000],
])('reads %s', (text, milliseconds) => {
  expect(readDuration('ttl', text)).toBe(milliseconds)
})

describe('nearest', () => {
  const commands = ['run', 'ls', 'show', 'evict', 'demo']

  it.each([
    ['rnu', 'run'],
    ['runn', 'run'],
    ['sl', 'ls'],
    ['shwo', 'show'],
    ['evct', 'evict'],
  ])('%s means %s', (word, meant) => {
    expect(nearest(word, commands)).toBe(meant)
  })

  it.each(['doctor', 'x', 'serve'])('%s means none of them', (word) => {
    expect(nearest(word, commands)).toBeUndefined()
  })
})

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'

const folder = new URL('../../../src/stores/redis/scripts/', import.meta.url)
const files = readdirSync(folder).filter((file) => file.endsWith('.lua'))

const DECLARED = /^(key|side|KEYS\[\w+\]|STOCK|UNITS|ENDS)$/
/** Scripts that decide nothing by time. */
const TIMELESS: ReadonlySet<string> = new Set(['stock-sell.lua'])

it('the embedded scripts are those in the files', () => {
  execFileSync(process.execPath, ['scripts/lua.mjs', '--check'])
  expect(Object.keys(SCRIPTS)).toHaveLength(files.length)
})

describe.each(files)('%s', (file) => {
  const text = readFileSync(new URL(file, folder), 'utf8')
  const lines = text.split('\n')
  const header = lines
    .slice(
      0,
      lines.findIndex((line) => !/^-- (?!@)/.test(line)),
    )
    .join('\n')
  const body = text.slice(header.length) + includesOf(text)

  it('says what it takes and what it answers', () => {
    expect(header).toMatch(/^-- [A-Z]/)
    for (const part of ['KEYS', 'ARGV', 'Answers']) expect(header).toMatch(new RegExp(`^-- ${part}`, 'm'))
  })

  it.each(['KEYS', 'ARGV'])('takes the %s that its header names', (name) => {
    const named = namedIn(header, name)
    const used = usedIn(body, name)
    // Of as many as there are, the first is one.
    expect(named.includes('i') ? used.filter((index) => index !== '1') : used).toEqual(named)
  })

  it('touches no key that is not declared, or named after one that is', () => {
    const parts = new Set([...body.matchAll(/\b(\w+) = partOf\(/g)].map(([, part]) => part))
    for (const [, names] of body.matchAll(/local ([\w, ]+) = partOf\(lock, '\w+'\), /g))
      for (const part of (names as string).split(', ')) parts.add(part)
    const calls = [...body.matchAll(/\bcall\('(\w+)'(?:, ([^,)]+))?/g)].map(([, command, first]) => [
      command,
      first,
    ])
    for (const [command, first] of calls) {
      if (command === 'TIME') continue
      if (command === 'PUBLISH') expect(first).toMatch(/^'holdfast:inbox:'/)
      else if (command === 'MGET') expect(first).toBe('unpack(KEYS')
      else if (first?.startsWith('unpack(names')) continue
      else if (!parts.has(first)) expect(first, `${command} ${first}`).toMatch(DECLARED)
    }
    expect(calls.length).toBeGreaterThan(1)
  })

  it('never takes the time from a client', () => {
    expect(body.match(/\bcall\('TIME'\)/g) ?? []).toHaveLength(TIMELESS.has(file) ? 0 : 1)
  })
})

/** `KEYS[1]`, `KEYS[2]`; or `KEYS[i]` for as many as there are. */
function namedIn(header: string, name: string): string[] {
  return [...header.matchAll(new RegExp(`^-- ${name}\\[(\\w+)\\]:`, 'gm'))].map(
    ([, index]) => index as string,
  )
}

/** The indexes that a script uses; a variable counts as `i`. */
function usedIn(body: string, name: string): string[] {
  const indexes = [...body.matchAll(new RegExp(`\\b${name}\\[([^\\]]+)\\]`, 'g'))].map(
    ([, index]) => index as string,
  )
  return [...new Set(indexes.map((index) => (/^\d+$/.test(index) ? index : 'i')))].sort()
}

/** The text of all includes; a file that is included twice counts once. */
function includesOf(text: string, base = folder, seen = new Set<string>()): string {
  return [...text.matchAll(/-- @include (\S+)/g)]
    .map(([, path]) => {
      const file = new URL(path as string, base)
      if (seen.has(file.href)) return ''
      seen.add(file.href)
      const part = readFileSync(file, 'utf8')
      return part + includesOf(part, file, seen)
    })
    .join('\n')
}

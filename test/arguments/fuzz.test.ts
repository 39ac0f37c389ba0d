import 'reflect-metadata'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createLocks, LockError, type Locks } from 'holdfast'
import { memoryGuard, redisGuard } from 'holdfast/guard'
import { memory } from 'holdfast/memory'
import { Collector } from 'holdfast/observe'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import entries from '../../entries.json' with { type: 'json' }
import { ERROR_CLASS, EXPORTS } from './exports.ts'
import { ELECTION, INVENTORY, LEASE, LOCKS, MUTEX, STRIPED, type Ways } from './table.ts'

const NONSENSE = [undefined, null, 42, 'x', [], {}, () => {}]
const HANG_MS = 5000

const unhandled: unknown[] = []
const note = (error: unknown) => unhandled.push(error)
const folder = process.cwd()

beforeAll(() => {
  process.on('unhandledRejection', note)
  // A store in a file makes one called x.
  process.chdir(mkdtempSync(join(tmpdir(), 'holdfast-arguments-')))
})
afterAll(() => {
  process.chdir(folder)
  process.off('unhandledRejection', note)
})

type Arguments = readonly unknown[]
type Callee = (...args: Arguments) => unknown

/** The arguments with one of them replaced by something that makes no sense, and cut short. */
function spoilt(args: Arguments): Arguments[] {
  const cut = args.map((_, length) => args.slice(0, length))
  return [...cut, ...args.flatMap((_, at) => NONSENSE.map((value) => args.with(at, value)))]
}

/** How a call ended other than well or by an error of ours; null when it did neither. */
async function faultOf(call: () => unknown): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined
  const hang = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('hangs'), HANG_MS)
  })
  try {
    return await Promise.race([hang, settled(call)])
  } catch (error) {
    if (error instanceof LockError) return null
    return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`
  } finally {
    clearTimeout(timer)
  }
}

/** Starts every iterable and closes everything open. */
async function settled(call: () => unknown): Promise<null> {
  const value = (await call()) as { close?: unknown } & object
  if (value === null || typeof value !== 'object') return null
  if (Symbol.asyncIterator in value) for await (const _ of value as AsyncIterable<unknown>) break
  if (Symbol.asyncDispose in value) await (value as AsyncDisposable)[Symbol.asyncDispose]()
  else if (typeof value.close === 'function') await value.close()
  return null
}

/** A callee is made anew for every call, because a call that works takes keys. */
async function expectOurErrors(ways: Ways, calleeOf: () => Callee | Promise<Callee>): Promise<void> {
  const faults: string[] = []
  for (const args of ways.flatMap(spoilt)) {
    const callee = await calleeOf()
    const fault = await faultOf(() => callee(...args))
    if (fault !== null) faults.push(`${inspect(args, { depth: 1, breakLength: Infinity })}: ${fault}`)
  }
  await new Promise(setImmediate)
  expect(faults).toEqual([])
  expect(unhandled.splice(0)).toEqual([])
}

const opened: Locks[] = []
afterAll(async () => {
  for (const locks of opened) await locks.close()
})

function locks(): Locks {
  const made = createLocks({ store: memory(), wait: 20, ttl: 1000 })
  opened.push(made)
  return made
}

function methodOf(object: object, name: string): Callee {
  return (object as Record<string, Callee>)[name]?.bind(object) as Callee
}

const MADE: readonly [string, Readonly<Record<string, Ways>>, () => object | Promise<object>][] = [
  ['locks', LOCKS, locks],
  ['a lease', LEASE, () => locks().acquire('a')],
  ['a lease over several keys', { extend: LEASE.extend, on: LEASE.on }, () => locks().all(['a', 'b'])],
  ['a mutex', MUTEX, () => locks().mutex('a')],
  ['a mutex with defaults', MUTEX, () => locks().mutex('a', { ttl: 500 })],
  ['a reader', MUTEX, () => locks().rw('a').read],
  ['a writer', MUTEX, () => locks().rw('a').write],
  ['a semaphore', MUTEX, () => locks().semaphore('a', { limit: 2 })],
  ['striped locks', STRIPED, () => locks().striped('a', 2)],
  ['an election', ELECTION, () => locks().election('a')],
  ['an inventory', INVENTORY, () => locks().inventory('a')],
  ['a guard in memory', { check: [['r', 1n]] }, () => memoryGuard()],
  [
    'a guard in Redis',
    { check: [['r', 1n]], set: [['r', 'v', 1n, {}]] },
    () => redisGuard({ call: async () => null }),
  ],
  ['a collector', { watch: [[locks()]], tap: [[() => {}]] }, () => new Collector()],
]

describe.each(MADE)('%s, called with nonsense, throws errors of ours', (_, table, make) => {
  test.each(Object.entries(table))('%s', (name, ways) =>
    expectOurErrors(ways, async () => methodOf(await make(), name)),
  )
})

describe.each(Object.keys(entries))(
  'what %s exports, called with nonsense, throws errors of ours',
  (entry) => {
    const table = EXPORTS[entry] ?? {}

    test('every function of it is looked at', async () => {
      const exported = await import(`holdfast${entry.slice(1)}`)
      const names = Object.keys(exported).filter((name) => typeof exported[name] === 'function')
      const known = new Set(Object.keys(table).map((name) => name.split('.')[0]))
      expect(names.filter((name) => !known.has(name) && !ERROR_CLASS.test(name))).toEqual([])
    })

    test.each(Object.keys(table))('%s', async (path) => {
      const exported = await import(`holdfast${entry.slice(1)}`)
      const [name = '', method] = path.split('.')
      const args = table[path]?.() ?? []
      await expectOurErrors([args], () => {
        if (method !== undefined) return methodOf(exported[name], method)
        return isClass(exported[name]) ? (...given) => new exported[name](...given) : exported[name]
      })
    })
  },
)

function isClass(value: unknown): boolean {
  return typeof value === 'function' && value.toString().startsWith('class')
}

import type { AcquireOptions, Lease, Mutex, Work } from '../core/api.ts'
import { checkFunction, checkObject, checkText } from '../core/check.ts'
import { type RecipeKit, wholeNumber } from './kit.ts'

/** A fixed number of locks for many ids: ids with the same stripe wait for each other. */
export interface Striped {
  readonly size: number
  /** The lock of an id's stripe, the same in every process. */
  for(id: string): Mutex
  /** Runs the work under any free stripe; waits for the first one if none is free. */
  any<T>(work: Work<T>): Promise<T>
  any<T>(options: AcquireOptions, work: Work<T>): Promise<T>
}

const MOST_STRIPES = 1024

export function striped(kit: RecipeKit, name: string, size: number, defaults: AcquireOptions = {}): Striped {
  checkText('name', name)
  wholeNumber('size', size, 1, MOST_STRIPES)
  const keyOf = (stripe: number) => `${name}:${stripe}`
  kit.nameOf(keyOf(size - 1))
  // Checks the options once, when they are given.
  kit.locks.mutex(keyOf(0), defaults)
  return {
    size,
    for: (id) => kit.locks.mutex(keyOf(stripeOf(checkText('id', id), size)), defaults),
    any: async <T>(...rest: [Work<T>] | [AcquireOptions, Work<T>]) => {
      const [given, work] = rest.length === 1 ? [{}, rest[0]] : rest
      checkFunction('work', work)
      const options = { ...defaults, ...checkObject('options', given) }
      const first = Math.floor(kit.runtime.random() * size)
      const keys = Array.from({ length: size }, (_, step) => keyOf((first + step) % size))
      return usingAny(kit, keys, options, work)
    },
  }
}

/** FNV-1a over UTF-8: the same stripe in every process and every version. */
export function stripeOf(id: string, size: number): number {
  if (size === 1) return 0
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(id)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0) % size
}

async function usingAny<T>(
  kit: RecipeKit,
  keys: readonly string[],
  options: AcquireOptions,
  work: Work<T>,
): Promise<T> {
  for (const key of keys) {
    const lease = await kit.locks.tryAcquire(key, options)
    if (lease !== null) return kit.workUnder(lease, () => work(lease))
  }
  const lease = await firstOf(kit, keys, options)
  return kit.workUnder(lease, () => work(lease))
}

/** Waits in every queue at once; releases every lease after the first. */
async function firstOf(kit: RecipeKit, keys: readonly string[], options: AcquireOptions): Promise<Lease> {
  const enough = new AbortController()
  const signal =
    options.signal === undefined ? enough.signal : AbortSignal.any([options.signal, enough.signal])
  const claims = keys.map((key) => kit.locks.acquire(key, { ...options, signal }))
  try {
    const [lease, winner] = await Promise.any(
      claims.map(async (claim, index) => [await claim, index] as const),
    )
    for (const [index, claim] of claims.entries()) {
      if (index !== winner) void claim.then((late) => late[Symbol.asyncDispose]()).catch(() => undefined)
    }
    return lease
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error
  } finally {
    enough.abort()
  }
}

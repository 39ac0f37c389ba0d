import type { Mode } from '../model/index.ts'
import type { AcquireOptions, Lease, Mutex, Work } from './api.ts'
import { checkObject } from './check.ts'

/** The ways in that a lock on one key leads to. */
export interface Door<L extends Lease> {
  run<T>(key: string, mode: Mode, options: AcquireOptions, work: Work<T, L>): Promise<T>
  take(key: string, mode: Mode, options: AcquireOptions): Promise<L>
  tryTake(key: string, mode: Mode, options: AcquireOptions): Promise<L | null>
}

/** A lock on one key, with defaults that each call may change. */
export function mutexOf<O extends AcquireOptions, L extends Lease>(
  door: Door<L>,
  key: string,
  modeOf: (options: O) => Mode,
  defaults: AcquireOptions,
): Mutex<O, L> {
  const merge = (options?: O): O => {
    if (options !== undefined) checkObject('options', options)
    return { ...defaults, ...options } as O
  }
  return {
    using: <T>(...rest: [Work<T, L>] | [O, Work<T, L>]): Promise<T> => {
      const work = rest.length === 1 ? rest[0] : rest[1]
      // No async function: its promise around that of the work costs a tenth of a lock in memory.
      try {
        const options = merge(rest.length === 1 ? undefined : rest[0])
        return door.run(key, modeOf(options), options, work)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    acquire: async (options) => {
      const merged = merge(options)
      return door.take(key, modeOf(merged), merged)
    },
    tryAcquire: async (options) => {
      const merged = merge(options)
      return door.tryTake(key, modeOf(merged), merged)
    },
  }
}

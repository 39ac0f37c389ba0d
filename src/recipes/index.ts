import type { AcquireOptions, Work } from '../core/api.ts'
import { Cache, type CachedOptions, type Loader } from './cached.ts'
import { Election, type ElectionOptions } from './election.ts'
import { Inventory, type InventoryOptions } from './inventory.ts'
import { type JobOptions, job } from './job.ts'
import type { RecipeKit } from './kit.ts'
import { idempotent, type OnceOptions, type OnceWork, once } from './once.ts'
import { type UpdateOptions, type Updater, update } from './optimistic.ts'
import { type Striped, striped } from './striped.ts'

/** The uses of a lock: recipes over it. */
export interface Recipes {
  /** Runs the work once per id; others wait for it, and later calls get the stored result. A failure allows a retry. */
  once<T>(id: string, work: OnceWork<T>): Promise<T>
  once<T>(
    id: string,
    options: OnceOptions & { onDuplicate: 'skip' },
    work: OnceWork<T>,
  ): Promise<T | undefined>
  once<T>(id: string, options: OnceOptions, work: OnceWork<T>): Promise<T>
  /** Wraps a function so that it runs once per id, computed from its arguments. */
  idempotent<A extends unknown[], T>(
    idOf: (...args: A) => string,
    work: (...args: A) => Promise<T> | T,
    options?: OnceOptions,
  ): (...args: A) => Promise<T>
  /** Changes a value by compare-and-set, with bounded, jittered retries; `ConflictError` when they are used up. */
  update<T>(key: string, change: Updater<T>, options?: UpdateOptions): Promise<T | undefined>
  /** A stock that cannot be oversold. */
  inventory(name: string, options?: InventoryOptions): Inventory
  /** A fixed number of locks for many ids. */
  striped(name: string, size: number, defaults?: AcquireOptions): Striped
  /** A local copy, then the shared value, then one loader across all processes. */
  cached<T>(key: string, options: CachedOptions, load: Loader<T>): Promise<T>
  /** Runs a job once across replicas. */
  job(name: string, work: Work<unknown>): Promise<'ran' | 'skipped'>
  job(name: string, options: JobOptions, work: Work<unknown>): Promise<'ran' | 'skipped'>
  /** One leader among the candidates for a name. */
  election(name: string, options?: ElectionOptions): Election
}

export function recipesOf(kit: RecipeKit): Recipes {
  const cache = new Cache(kit)
  return {
    once: async <T>(id: string, ...rest: [OnceWork<T>] | [OnceOptions, OnceWork<T>]) => {
      const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
      return (await once(kit, id, options, work)) as T
    },
    idempotent: <A extends unknown[], T>(
      idOf: (...args: A) => string,
      work: (...args: A) => Promise<T> | T,
      options?: OnceOptions,
    ) => idempotent(kit, idOf, work, options) as (...args: A) => Promise<T>,
    update: (key, change, options) => update(kit, key, change, options),
    inventory: (name, options) => new Inventory(kit, name, options),
    striped: (name, size, defaults) => striped(kit, name, size, defaults),
    cached: (key, options, load) => cache.get(key, options, load),
    job: async (name: string, ...rest: [Work<unknown>] | [JobOptions, Work<unknown>]) => {
      const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
      return job(kit, name, options, work)
    },
    election: (name, options) => new Election(kit, name, options),
  }
}

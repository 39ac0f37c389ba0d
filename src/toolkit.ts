import type { CoreLocks, LocksOptions } from './core/api.ts'
import type { StoreLease } from './core/lease/lease.ts'
import { workUnder } from './core/lease/using.ts'
import { StoreLocks } from './core/locks.ts'
import type { Store } from './core/store.ts'
import { type Deadlocks, deadlocksOf } from './observe/deadlock/index.ts'
import { type Operations, operationsOf, recorderOf } from './observe/doctor/index.ts'
import { type Recipes, recipesOf } from './recipes/index.ts'

/** Locks over one store, with recipes and operator tools. */
export interface Locks extends CoreLocks, Recipes, Operations, Deadlocks {}

/** Composes the locks, the recipes and the operator tools. */
export function toolkit(store: Store, options: LocksOptions): Locks {
  const locks = new StoreLocks(store, options)
  const { runtime } = locks.settings
  const recipes = recipesOf({
    locks,
    runtime,
    nameOf: (key) => locks.storeKey(key),
    workUnder: (lease, work) => workUnder(lease as StoreLease, work),
  })
  if (locks.settings.habits) recordHabits(locks)
  const { deadlocks, cycles } = deadlocksOf(locks)
  const { admin, records, settings, traits } = locks
  const operations = operationsOf({ admin, records, settings, traits, cycles })
  return Object.assign(locks, recipes, operations, { deadlocks })
}

function recordHabits(locks: StoreLocks): void {
  const { records, settings } = locks
  if (records === null) return
  const { runtime, prefix } = settings
  const recorder = recorderOf({
    records,
    runtime,
    prefix,
    on: (event, listener) => locks.on(event, listener),
  })
  const close = locks.close.bind(locks)
  locks.close = async () => {
    await recorder.close()
    await close()
  }
}

import type { CoreLocks, Lease } from '../core/api.ts'

export { checkFunction as functionOf, checkWholeNumber as wholeNumber } from '../core/check.ts'

import { type Duration, durationMs, show } from '../core/durations.ts'
import type { Runtime } from '../core/runtime.ts'
import type { Records } from '../core/store.ts'
import { InvalidArgumentError, LeaseLostError, StoreError, UnsupportedError } from '../errors.ts'

/** The parts that recipes are built from. */
export interface RecipeKit {
  readonly locks: CoreLocks
  readonly runtime: Runtime
  /** The name of a key in the store; throws when it is too long. */
  nameOf(key: string): string
  /** Runs the work under a lease of these locks, judges loss as `using` does, and releases the lease. */
  workUnder<T>(lease: Lease, work: () => Promise<T> | T): Promise<T>
}

const DAY_MS = 86_400_000
const LONGEST_KEPT_MS = 365 * DAY_MS
/** The number of tries to store the mark of finished work when the store does not answer. */
const PAUSE_MS = 50

/** The records of the store, or an error that names the recipe that needs them. */
export function recordsOf({ locks }: RecipeKit, recipe: string): Records {
  if (locks.records !== null) return locks.records
  throw new UnsupportedError(
    `${recipe} needs records, and the ${locks.traits.name} store has none: ` +
      'memory, SQLite, Redis, PostgreSQL, MySQL, etcd and ZooKeeper have them',
  )
}

/** The key of a recipe's record under a name that the user gave it. */
export function keyFor(recipe: string, argument: string, name: string): string {
  if (typeof name === 'string' && name !== '') return `${recipe}:${name}`
  throw new InvalidArgumentError(argument, `must be a text of at least one letter, not ${show(name)}`)
}

/** A duration for which the store keeps a value. */
export function keepMs(argument: string, value: Duration): number {
  return durationMs(argument, value, { minMs: 1, maxMs: LONGEST_KEPT_MS })
}

/** Rejects with the signal's reason as soon as it fires. */
export function pause({ runtime }: RecipeKit, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const stop = () => {
      timer.clear()
      reject(signal?.reason)
    }
    const timer = runtime.setTimer(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      delayMs,
      false,
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/**
 * Writes the record with the name of the lease's key, only while the lease is held: the store checks that in the same
 * step. An unknown outcome is tried again while the lease lives, since a repeated write changes nothing.
 */
export async function writeUnder(
  kit: RecipeKit,
  lease: Lease,
  value: string,
  ttlMs: number | null,
): Promise<void> {
  const records = recordsOf(kit, 'a write under a lease')
  const name = kit.nameOf(lease.key)
  for (;;) {
    try {
      const answer = await records.write(name, value, ttlMs, { kind: 'held', key: name, id: lease.id })
      if (answer.kind === 'written') return
      lease.assertHeld()
      throw new LeaseLostError(lease.key, 'the store does not know it any more')
    } catch (error) {
      if (!(error instanceof StoreError) || lease.remainingMs() <= PAUSE_MS) throw error
    }
    await pause(kit, PAUSE_MS)
  }
}

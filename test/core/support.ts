import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime, type Faults, faulty } from 'holdfast/testing'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { MemoryWorld } from '../../src/stores/memory/world.ts'

/** One process: its locks, the faults of its way to the store, and how often it called the store. */
export interface Party {
  readonly locks: Locks
  readonly faults: Faults
  readonly calls: { attempt: number; renew: number; release: number }
  /** The claims of each call, newest last. */
  readonly sizes: { attempt: number[]; renew: number[]; release: number[] }
}

/** A store under a fake clock that several parties share, with offers that live for a second. */
export class Scene {
  readonly runtime = new FakeRuntime()
  private readonly world = new MemoryWorld(this.runtime, {
    offerMs: 1000,
    keepSeqMs: 0,
    mostOffers: Number.POSITIVE_INFINITY,
  })

  party(options: LocksOptions = {}): Party {
    const calls = { attempt: 0, renew: 0, release: 0 }
    const sizes = { attempt: [] as number[], renew: [] as number[], release: [] as number[] }
    const counted = count(memory({ world: this.world }), calls, sizes)
    const store = faulty(counted, this.runtime)
    const locks = createLocks({ store, runtime: this.runtime, ...options })
    onTestFinished(() => this.runtime.until(locks.close()))
    return { locks, faults: store.faults, calls, sizes }
  }
}

function count(store: Store, calls: Party['calls'], sizes: Party['sizes']): Store {
  const note = (call: keyof Party['calls'], claims: readonly unknown[]) => {
    calls[call]++
    sizes[call].push(claims.length)
  }
  return {
    ...store,
    attempt(claims) {
      note('attempt', claims)
      return store.attempt(claims)
    },
    renew(claims) {
      note('renew', claims)
      return store.renew(claims)
    },
    release(claims) {
      note('release', claims)
      return store.release(claims)
    },
  }
}

/** The margin that the lease subtracts from a time to live. */
export function drift(ttlMs: number): number {
  return Math.ceil(ttlMs * 0.01) + 2
}

/** The error a promise rejects with; fails the test when it does not. */
export async function failure(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error & { code?: string }
  }
  throw new Error('the promise did not reject')
}

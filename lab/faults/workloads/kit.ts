import type { Locks } from 'holdfast'
import type { Random } from '../../simulation/random.ts'
import { type LockClient, sleep } from '../lock-client.ts'
import type { Resource } from '../resource.ts'

/** The tools of a workload. */
export interface Kit {
  /** Every claim goes to the store by itself. */
  readonly locks: Locks
  /** Claims of one process are handed over inside it. */
  readonly handing: Locks
  readonly client: LockClient
  readonly resource: Resource
  readonly random: Random
  readonly over: AbortSignal
}

/** Does one thing again and again until the run is over, with a rest in between. */
export type Workload = (kit: Kit) => Promise<void>

export async function again({ random, over }: Kit, once: () => Promise<unknown>): Promise<void> {
  while (!over.aborted) {
    await once()
    await sleep(random.whole(40, 140))
  }
}

/** How long somebody stays: mostly short, and sometimes so long that the lease must be renewed on the way. */
export function stayMs(random: Random, ttlMs: number): number {
  return random.chance(12) ? ttlMs * 1.5 : random.whole(10, 50)
}

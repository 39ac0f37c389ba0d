import { NestedLease } from '../reentry/reentry.ts'
import type { StoreLease } from './lease.ts'

/**
 * Runs the work under a lease and gives the lease back. A lease that is in doubt when the work settles is proven first;
 * one that was lost rejects with `LeaseLostError`, whose `result` holds what the work returned.
 */
export async function workUnder<T>(lease: StoreLease | NestedLease, work: () => Promise<T> | T): Promise<T> {
  if (lease instanceof NestedLease) return work()
  let result: T
  try {
    result = await work()
  } catch (error) {
    await lease[Symbol.asyncDispose]()
    throw error
  }
  const proof = lease.proveSoon()
  if (proof instanceof Promise) await proof
  if (lease.lossError === null) {
    // A release whose outcome is unknown is told by an event and ends with the ttl; it must not fail the work.
    try {
      const released = lease.releaseSoon()
      if (released instanceof Promise) {
        if (lease.request.backgroundRelease) released.catch(() => {})
        else await released
      }
    } catch {}
  }
  const { lossError } = lease
  if (lossError === null) return result
  lossError.result = result
  throw lossError
}

import { NestedLease } from '../reentry/reentry.ts'
import type { StoreLease } from './lease.ts'

/**
 * Runs the work under a lease and releases the lease. A lease in doubt is renewed first when the work settles; a lost one
 * rejects with `LeaseLostError`, whose `result` is the work's result.
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
    // A release with an unknown outcome emits an event and ends with the ttl; it must not fail the work.
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

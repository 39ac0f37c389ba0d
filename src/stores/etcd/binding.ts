import type { Soon } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { Known } from './book.ts'
import { bind, type Desk, withLeases } from './desk.ts'
import { present } from './guards.ts'
import { delayName, leasesOf, meansFor } from './holding.ts'
import type { Lease } from './leases.ts'
import { delayText } from './value.ts'
import type { Op } from './wire/requests.ts'

/** Makes sure that a hold lasts for `ttlMs` from now; false when it is gone. Rejects when that is not known. */
export async function secure(desk: Desk, known: Known, claim: Claim): Promise<boolean> {
  const { leases } = desk
  const { ttlMs } = claim
  if (!leases.suits(known.lease, ttlMs)) {
    const longest = { ...known.claim, ttlMs }
    const { lease, delay } = await meansFor(desk, longest)
    if (!(await rebind(desk, known, lease, delay))) return false
  }
  await leases.fresh(known.lease, ttlMs)
  return true
}

/** Binds the claim's key to another lease; false when the key is gone. */
export function rebind(
  desk: Desk,
  known: Known,
  next: Soon<Lease>,
  delay: Lease | null = null,
): Promise<boolean> {
  return withLeases(async () => {
    const lease = await next
    const { name, claim, state, seq } = known
    // From now on the key itself does not tell any more when it was granted.
    const { granted: _, ...value } = state === 'held' ? { ...known.value, state, seq } : known.value
    const success: Op[] = [{ kind: 'put', key: name, value: JSON.stringify(value), lease: lease.id }]
    if (delay !== null)
      success.push({
        kind: 'put',
        key: delayName(claim),
        value: delayText(claim.lockDelayMs),
        lease: delay.id,
      })
    const txn = { compare: [present(known)], success, failure: [] }
    const { succeeded, header } = await bind(desk, leasesOf({ lease, delay }), txn)
    if (!succeeded) {
      desk.book.drop(known)
      return false
    }
    known.lease = lease
    known.value = value
    known.changed = header.revision
    return true
  })
}

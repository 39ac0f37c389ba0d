import type { Claim } from '../../model/index.ts'
import { type Known, knownOf } from './book.ts'
import type { Desk } from './desk.ts'
import type { Lease } from './leases.ts'
import { claimName, DELAY, lineZone, type Zone } from './names.ts'
import { type ClaimValue, claimValue, delayText } from './value.ts'
import type { Compare, Op } from './wire/requests.ts'

/** What a hold is bound to. */
export interface Means {
  readonly lease: Lease
  /** For the key that closes the lock after an expiry. */
  readonly delay: Lease | null
}

/** A hold that is written by a transaction, and known when that has gone well. */
export interface Draft {
  readonly claim: Claim
  readonly name: string
  readonly value: ClaimValue
  readonly means: Means
  readonly sentAtMs: number
}

export async function meansFor({ leases }: Desk, { ttlMs, lockDelayMs }: Claim): Promise<Means> {
  const lease = await leases.forTtl(ttlMs)
  return { lease, delay: lockDelayMs === 0 ? null : await leases.following(lease, lockDelayMs) }
}

export function leasesOf({ lease, delay }: Means): Lease[] {
  return delay === null ? [lease] : [lease, delay]
}

export function draftHold(
  { inbox, runtime }: Desk,
  claim: Claim,
  means: Means,
  zone: Zone = lineZone(claim.mode),
  more: Pick<ClaimValue, 'granted' | 'seq' | 'order'> = {},
): Draft {
  const { key, id } = claim
  const value = claimValue(claim, inbox.address, 'held', runtime.wallMs(), more)
  return { claim, name: claimName(key, zone, id), value, means, sentAtMs: runtime.nowMs() }
}

/** Everything that makes it a hold. */
export function holdOps({ claim, name, value, means }: Draft): Op[] {
  const put: Op = { kind: 'put', key: name, value: JSON.stringify(value), lease: means.lease.id }
  if (means.delay === null) return [put]
  const delay = delayName(claim)
  return [put, { kind: 'put', key: delay, value: delayText(claim.lockDelayMs), lease: means.delay.id }]
}

/** The hold is in etcd: from now on the store sees to its end. `revision` is that of the transaction that wrote it. */
export function noteHold(
  { book, inbox }: Desk,
  { claim, name, value, means, sentAtMs }: Draft,
  created: number,
  revision: number,
): Known {
  const known = knownOf(claim, { name, value, created, changed: revision }, means.lease, sentAtMs)
  known.state = 'held'
  known.seq = value.seq ?? (value.granted === true ? revision : created)
  known.delayName = means.delay === null ? null : delayName(claim)
  const before = book.get(claim)
  if (before !== undefined) {
    known.endsAtMs = Math.max(known.endsAtMs, before.endsAtMs)
    book.drop(before)
  }
  book.add(known)
  inbox.begin(revision)
  return known
}

export function delayName({ key, id }: Pick<Claim, 'key' | 'id'>): string {
  return claimName(key, DELAY, id)
}

/** Ends a claim as a release does: what would close the key goes with it, but not when the claim has expired before. */
export function endOp(name: string, delay: string | null): Op {
  const end: Op = { kind: 'delete', key: name }
  if (delay === null) return end
  const present: Compare = { target: 'create', key: name, is: '>', value: 0 }
  return { kind: 'txn', compare: [present], success: [end, { kind: 'delete', key: delay }], failure: [] }
}

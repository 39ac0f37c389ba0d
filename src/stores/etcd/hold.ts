import { type Claim, type Granted, SPARE_TOKENS, tokenOf } from '../../model/index.ts'
import type { EtcdLease } from './client/leases.ts'
import type { Op } from './client/requests.ts'
import { discard, type StoreContext } from './context.ts'
import { type ClaimValue, claimValue, pointerText, shutText } from './format.ts'
import { absent, boundTo, exists, present } from './guards.ts'
import { LocalClaim } from './local-claims.ts'
import { claimName, parseClaimName, pointerName, queueName, shutName } from './names.ts'
import type { ClaimEntry } from './snapshot.ts'

/** The leases of a hold. */
export interface HoldLeases {
  readonly lease: EtcdLease
  /** For the key that closes the lock after an expiry; null without a lock delay. */
  readonly delay: EtcdLease | null
}

/** A hold for a transaction to write. */
export interface HoldDraft {
  readonly claim: Claim
  readonly name: string
  readonly value: ClaimValue
  readonly leases: HoldLeases
  /** Null for a hold outside of the queue. */
  readonly order: number | null
  readonly sentAtMs: number
}

export async function holdLeases(
  { leases }: StoreContext,
  { ttlMs, lockDelayMs }: Pick<Claim, 'ttlMs' | 'lockDelayMs'>,
): Promise<HoldLeases> {
  const lease = await leases.forTtl(ttlMs)
  return { lease, delay: lockDelayMs === 0 ? null : await leases.follower(lease, lockDelayMs) }
}

export function listOf({ lease, delay }: HoldLeases): EtcdLease[] {
  return delay === null ? [lease] : [lease, delay]
}

/** Drafts a hold in the queue at `order`, or outside of the queue when that is null. */
export function draftHold(
  { inbox, runtime }: StoreContext,
  claim: Claim,
  leases: HoldLeases,
  more: Pick<ClaimValue, 'granted' | 'seq'> = {},
  order: number | null = null,
): HoldDraft {
  const { key, id, mode } = claim
  const name = order === null ? claimName(key, 'hold', mode.kind, id) : queueName(key, mode.kind, order, id)
  const value = claimValue(claim, inbox.address, 'held', runtime.wallMs(), more)
  return { claim, name, value, leases, order, sentAtMs: runtime.nowMs() }
}

/** Writes a claim under its name, with the keys that live and end with it. */
export function claimOps({
  claim: { key, id, mode, lockDelayMs },
  name,
  value,
  leases: { lease, delay },
  order,
}: Omit<HoldDraft, 'sentAtMs'>): Op[] {
  const ops: Op[] = [{ kind: 'put', key: name, value: JSON.stringify(value), lease: lease.id }]
  if (order !== null) {
    const text = pointerText(mode.kind, order)
    ops.push({ kind: 'put', key: pointerName(key, id), value: text, lease: lease.id })
  }
  if (delay !== null)
    ops.push({ kind: 'put', key: shutName({ key, id }), value: shutText(lockDelayMs, name), lease: delay.id })
  return ops
}

/** Enters a hold among the local claims, which end it in time. `revision` is that of the transaction that wrote it. */
export function noteHold(
  { claims, inbox }: StoreContext,
  { claim, name, value, leases, order, sentAtMs }: HoldDraft,
  created: number,
  revision: number,
): LocalClaim {
  const stored = { name, value, created, changed: revision, order: order ?? created }
  const local = new LocalClaim(claims, claim, 'held', stored, leases.lease, sentAtMs)
  local.seq = value.seq ?? (value.granted === true ? revision : created)
  local.shutName = leases.delay === null ? null : shutName(claim)
  const before = claims.get(claim)
  if (before !== undefined) {
    local.endsAtMs = Math.max(local.endsAtMs, before.endsAtMs)
    claims.drop(before)
  }
  claims.add(local)
  inbox.begin(revision)
  return local
}

/** Notes a waiter whose key turns out to be a hold: the answer to the transaction that granted it was lost. */
export function noteFound(
  { claims, leases }: StoreContext,
  local: LocalClaim,
  entry: ClaimEntry,
  sentAtMs: number,
): Granted {
  local.state = 'held'
  local.value = entry.value
  local.seq = entry.seq
  local.lease = leases.byId(entry.lease)
  local.shutName = local.claim.lockDelayMs === 0 ? null : shutName(local.claim)
  local.endsAtMs = Math.max(local.endsAtMs, sentAtMs + local.claim.ttlMs)
  claims.stopWaiting(local)
  // Contended until a renewal has looked at the queue behind it.
  return granted(entry.seq, local.claim, true)
}

/** A hold that several claims may share has no spare tokens. */
export function granted(seq: number, claim: Claim, contended: boolean): Granted {
  return { kind: 'granted', token: tokenOf(seq), spare: claim.owner === null ? SPARE_TOKENS : 0, contended }
}

/** Moves the claim's deadline to `ttlMs` from now, before the outcome of the renewal is known. */
export function rearm({ claims, leases, runtime }: StoreContext, local: LocalClaim, ttlMs: number): void {
  local.endsAtMs = Math.max(local.endsAtMs, runtime.nowMs() + ttlMs)
  local.offerEndsAtMs = Number.POSITIVE_INFINITY
  local.confirmed = local.state === 'held'
  leases.touch(local.lease)
  claims.watch(local)
}

/**
 * Deletes a key that was written for a claim which this store had forgotten by then, because nothing else would end it.
 * Deletes its `shut` key too, unless another connection has taken the claim over.
 */
export function endStray(
  context: StoreContext,
  { claim, name, created }: Pick<LocalClaim, 'claim' | 'name' | 'created'>,
  { lease, delay }: HoldLeases,
): void {
  const compare = [present({ name, created }), boundTo(name, lease.id)]
  const end = removal(claim, name)
  if (delay === null) {
    discard(context, lease, compare, end).catch(ignore)
    return
  }
  const open: Op = { kind: 'delete', key: shutName(claim) }
  const gone: Op = { kind: 'txn', compare: [absent(name)], success: [open] }
  discard(context, lease, compare, [...end, open], [gone]).catch(ignore)
}

/** Deletes a claim, and the pointer to its position if it is in the queue. */
export function removal({ key, id }: Pick<Claim, 'key' | 'id'>, name: string): Op[] {
  const end: Op = { kind: 'delete', key: name }
  if (parseClaimName(name).section !== 'queue') return [end]
  return [end, { kind: 'delete', key: pointerName(key, id) }]
}

/** Ends a claim as a release does: its `shut` key goes too, unless the claim has expired before. */
export function endOps(claim: Pick<Claim, 'key' | 'id'>, name: string, delayed: boolean): Op[] {
  const end = removal(claim, name)
  if (!delayed) return end
  const success: Op[] = [...end, { kind: 'delete', key: shutName(claim) }]
  return [{ kind: 'txn', compare: [exists(name)], success }]
}

/** The key ends with its lease. */
function ignore(): void {}

import type { Soon } from '../../core/store.ts'
import { type Claim, type Granted, SPARE_TOKENS, tokenOf } from '../../model/index.ts'
import { bind, discard, isUnknown, type StoreContext, withLeases } from './context.ts'
import { absent, boundTo, exists, present } from './guards.ts'
import type { Lease } from './client/leases.ts'
import { type LocalClaim, localClaim } from './local-claims.ts'
import { claimName, parseClaimName, pointerName, queueName, shutName } from './names.ts'
import type { Entry } from './snapshot.ts'
import { type ClaimValue, claimValue, pointerText, shutText } from './format.ts'
import type { Op } from './client/requests.ts'

/** What a hold is bound to. */
export interface HoldLeases {
  readonly lease: Lease
  /** For the key that closes the lock after an expiry. */
  readonly delay: Lease | null
}

/** A hold that is written by a transaction, and known when that has gone well. */
export interface Draft {
  readonly claim: Claim
  readonly name: string
  readonly value: ClaimValue
  readonly leases: HoldLeases
  /** Null for a hold that did not come through the queue. */
  readonly order: number | null
  readonly sentAtMs: number
}

export async function holdLeases(
  { leases }: StoreContext,
  { ttlMs, lockDelayMs }: Claim,
): Promise<HoldLeases> {
  const lease = await leases.forTtl(ttlMs)
  return { lease, delay: lockDelayMs === 0 ? null : await leases.following(lease, lockDelayMs) }
}

export function listOf({ lease, delay }: HoldLeases): Lease[] {
  return delay === null ? [lease] : [lease, delay]
}

/** A hold outside of the queue, unless it has a place in its order. */
export function draftHold(
  { inbox, runtime }: StoreContext,
  claim: Claim,
  leases: HoldLeases,
  more: Pick<ClaimValue, 'granted' | 'seq'> = {},
  order: number | null = null,
): Draft {
  const { key, id, mode } = claim
  const name = order === null ? claimName(key, 'hold', mode.kind, id) : queueName(key, mode.kind, order, id)
  const value = claimValue(claim, inbox.address, 'held', runtime.wallMs(), more)
  return { claim, name, value, leases, order, sentAtMs: runtime.nowMs() }
}

/** Everything that makes it a hold. */
export function holdOps({ claim, name, value, leases, order }: Draft): Op[] {
  return claimOps(claim, name, value, leases, order)
}

/** A claim under its name, with what must live and end with it. */
function claimOps(
  claim: Claim,
  name: string,
  value: ClaimValue,
  { lease, delay }: HoldLeases,
  order: number | null,
): Op[] {
  const { key, id, mode, lockDelayMs } = claim
  const ops: Op[] = [{ kind: 'put', key: name, value: JSON.stringify(value), lease: lease.id }]
  if (order !== null) {
    const text = pointerText(mode.kind, order)
    ops.push({ kind: 'put', key: pointerName(key, id), value: text, lease: lease.id })
  }
  if (delay !== null)
    ops.push({ kind: 'put', key: shutName(claim), value: shutText(lockDelayMs, name), lease: delay.id })
  return ops
}

/** A position in the queue, for a claim that waits. */
export function waitingOps(claim: Claim, name: string, value: ClaimValue, lease: Lease, order: number): Op[] {
  return claimOps(claim, name, value, { lease, delay: null }, order)
}

/** The hold is in etcd: from now on the store sees to its end. `revision` is that of the transaction that wrote it. */
export function noteHold(
  { claims, inbox }: StoreContext,
  { claim, name, value, leases, order, sentAtMs }: Draft,
  created: number,
  revision: number,
): LocalClaim {
  const entry = { state: 'held', name, value, created, changed: revision, order: order ?? created } as const
  const local = localClaim(claim, entry, leases.lease, sentAtMs)
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

/** An earlier transaction made it a hold, and its answer was lost. */
export function noteFound(
  { claims, leases }: StoreContext,
  local: LocalClaim,
  entry: Entry,
  sentAtMs: number,
): Granted {
  local.state = 'held'
  local.value = entry.value
  local.seq = entry.seq
  local.lease = leases.bound(entry.lease)
  local.shutName = local.claim.lockDelayMs === 0 ? null : shutName(local.claim)
  local.endsAtMs = Math.max(local.endsAtMs, sentAtMs + local.claim.ttlMs)
  claims.settle(local)
  // Nothing is known about those behind it until it is renewed.
  return granted(entry.seq, local.claim, true)
}

/** A hold that several claims may share has no tokens to give away. */
export function granted(seq: number, claim: Claim, contended: boolean): Granted {
  return { kind: 'granted', token: tokenOf(seq), spare: claim.owner === null ? SPARE_TOKENS : 0, contended }
}

/** The claim is not ended before `ttlMs` from now, whether this renewal is answered or not. */
export function rearm({ claims, leases, runtime }: StoreContext, local: LocalClaim, ttlMs: number): void {
  const nowMs = runtime.nowMs()
  local.endsAtMs = Math.max(local.endsAtMs, nowMs + ttlMs)
  local.offerEndsAtMs = Number.POSITIVE_INFINITY
  local.confirmed = local.state === 'held'
  leases.use(local.lease)
  claims.watch(local)
}

/** Makes sure that a hold lasts for `ttlMs` from now; false when it is gone. Rejects when that is not known. */
export async function secure(
  { leases, moves }: StoreContext,
  local: LocalClaim,
  { ttlMs }: Claim,
): Promise<boolean> {
  if (!leases.suits(local.lease, ttlMs) && !(await moves.move(local, ttlMs))) return false
  await leases.fresh(local.lease, ttlMs)
  return true
}

/** Binds the claim's keys to another lease; false when they are gone. */
export function rebind(
  context: StoreContext,
  local: LocalClaim,
  next: Soon<Lease>,
  delay: Lease | null = null,
): Promise<boolean> {
  return withLeases(async () => {
    const [isThere] = await rebindAll(context, [{ local, leases: { lease: await next, delay } }])
    return isThere as boolean
  })
}

/** A claim, and the leases that it moves to. */
export interface Rebinding {
  readonly local: LocalClaim
  readonly leases: HoldLeases
}

/** Binds the keys of several claims to other leases, in one transaction: false for those that are gone. */
export async function rebindAll(
  context: StoreContext,
  rebindings: readonly Rebinding[],
): Promise<readonly boolean[]> {
  const values = rebindings.map(({ local }) => boundValue(local))
  const success = rebindings.map(({ local, leases }, index): Op => {
    const ops = claimOps(local.claim, local.name, values[index] as ClaimValue, leases, queueOrder(local))
    return { kind: 'txn', compare: [present(local)], success: ops, failure: [] }
  })
  const bound = new Set(rebindings.flatMap(({ leases }) => listOf(leases)))
  const binding = { txn: { compare: [], success, failure: [] }, leases: bound }
  try {
    return await bind(context, binding, ({ results, header }) =>
      rebindings.map((rebinding, index) => {
        const isThere = results[index]?.txn?.succeeded === true
        return noteRebound(context, rebinding, values[index] as ClaimValue, isThere, header.revision)
      }),
    )
  } catch (error) {
    // Which of two leases a claim is bound to is unknown, so neither is relied on again.
    if (isUnknown(error)) for (const { local } of rebindings) context.leases.retire(local.lease)
    throw error
  }
}

/** From now on the key itself does not tell any more when it was granted. */
function boundValue({ state, seq, value }: LocalClaim): ClaimValue {
  if (state !== 'held') return value
  const { granted: _, ...rest } = value
  return { ...rest, state, seq }
}

function noteRebound(
  context: StoreContext,
  { local, leases }: Rebinding,
  value: ClaimValue,
  isThere: boolean,
  revision: number,
): boolean {
  if (isThere && context.claims.has(local)) {
    local.lease = leases.lease
    local.value = value
    local.changed = revision
    if (leases.delay !== null) local.shutName = shutName(local.claim)
    return true
  }
  // It was released, or its time was up, while it was on its way to another lease.
  if (isThere) endStray(context, local, leases)
  else context.claims.drop(local)
  return false
}

/** The claim's place in the queue; null when it has none. */
export function queueOrder({
  claim,
  name,
  order,
}: Pick<LocalClaim, 'claim' | 'name' | 'order'>): number | null {
  return name === queueName(claim.key, claim.mode.kind, order, claim.id) ? order : null
}

/**
 * Ends a key that was written for a claim which this store had forgotten by then: nobody would end it. What would close the key
 * goes, too, unless somebody else has the claim.
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
  const gone: Op = { kind: 'txn', compare: [absent(name)], success: [open], failure: [] }
  discard(context, lease, compare, [...end, open], [gone]).catch(ignore)
}

/** Deletes a claim, and what says where it is if it is in the queue. */
export function removal({ key, id }: Pick<Claim, 'key' | 'id'>, name: string): Op[] {
  const end: Op = { kind: 'delete', key: name }
  if (parseClaimName(name).place !== 'queue') return [end]
  return [end, { kind: 'delete', key: pointerName(key, id) }]
}

/** Ends a claim as a release does: what would close the key goes with it, but not when the claim has expired before. */
export function endOps(claim: Pick<Claim, 'key' | 'id'>, name: string, delayed: boolean): Op[] {
  const end = removal(claim, name)
  if (!delayed) return end
  const success: Op[] = [...end, { kind: 'delete', key: shutName(claim) }]
  return [{ kind: 'txn', compare: [exists(name)], success, failure: [] }]
}

/** It ends with its lease. */
function ignore(): void {}

import type { Soon } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { EtcdLease } from './client/leases.ts'
import type { Op } from './client/requests.ts'
import { bind, isUnknown, type StoreContext, withLeases } from './context.ts'
import type { ClaimValue } from './format.ts'
import { present } from './guards.ts'
import { claimOps, endStray, type HoldLeases, holdLeases, listOf } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import { queueName, shutName } from './names.ts'

/** Each hold takes one of the 128 operations of a transaction; etcd counts the nested ones apart. */
const HOLDS_PER_CALL = 60
/** Other calls of the process need not wait until all holds are rebound. */
const CALLS_AT_ONCE = 8

/** A claim, and the leases that its keys move to. */
interface Rebinding {
  readonly local: LocalClaim
  readonly leases: HoldLeases
}

/** A hold that needs a lease for `ttlMs`. */
class PendingRebind {
  readonly local: LocalClaim
  ttlMs: number
  /** False when the hold is gone; rejects when the outcome is unknown. */
  readonly isThere: Promise<boolean>
  resolve: (isThere: boolean) => void = () => {}
  reject: (error: unknown) => void = () => {}

  constructor(local: LocalClaim, ttlMs: number) {
    this.local = local
    this.ttlMs = ttlMs
    this.isThere = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/**
 * Holds that need another lease. When the outcome of one transaction is unknown, every hold of its lease has to move before the
 * lease ends: many share a transaction, and each hold is queued once.
 */
export class RebindQueue {
  readonly pending = new Map<LocalClaim, PendingRebind>()
  inFlight = 0
}

/** Makes a hold last for `ttlMs` from now; false when it is gone. Rejects when the outcome is unknown. */
export async function secure(
  context: StoreContext,
  local: LocalClaim,
  { ttlMs }: Pick<Claim, 'ttlMs'>,
): Promise<boolean> {
  const { leases } = context
  if (!leases.covers(local.lease, ttlMs) && !(await rebindSoon(context, local, ttlMs))) return false
  await leases.extend(local.lease, ttlMs)
  return true
}

/** Binds a hold to a lease that covers `ttlMs`, together with other holds; false when the hold is gone. */
function rebindSoon(context: StoreContext, local: LocalClaim, ttlMs: number): Promise<boolean> {
  const { pending } = context.rebinds
  // The holds of one call share transactions.
  if (pending.size === 0) context.runtime.defer(() => sendPending(context))
  const rebind = pending.get(local) ?? new PendingRebind(local, ttlMs)
  rebind.ttlMs = Math.max(rebind.ttlMs, ttlMs)
  pending.set(local, rebind)
  return rebind.isThere
}

function sendPending(context: StoreContext): void {
  const queue = context.rebinds
  while (queue.inFlight < CALLS_AT_ONCE && queue.pending.size > 0) {
    const some = [...queue.pending.values()].slice(0, HOLDS_PER_CALL)
    for (const { local } of some) queue.pending.delete(local)
    queue.inFlight++
    const failed = (error: unknown): void => {
      for (const { reject } of some) reject(error)
    }
    void withLeases(() => send(context, some))
      .catch(failed)
      .finally(() => {
        queue.inFlight--
        sendPending(context)
      })
  }
}

/** A failed lease request concerns only the holds that need that lease. */
async function send(context: StoreContext, rebinds: readonly PendingRebind[]): Promise<void> {
  const { claims, leases } = context
  const needed: PendingRebind[] = []
  // Since it was queued, a hold may have ended, or an earlier transaction may have moved it.
  for (const rebind of rebinds) {
    if (!claims.has(rebind.local)) rebind.resolve(false)
    else if (leases.covers(rebind.local.lease, rebind.ttlMs)) rebind.resolve(true)
    else needed.push(rebind)
  }
  const found = await Promise.allSettled(
    needed.map(({ local, ttlMs }) => holdLeases(context, { ...local.claim, ttlMs })),
  )
  const ready = found.flatMap((each, index) => {
    const rebind = needed[index] as PendingRebind
    if (each.status === 'fulfilled') return { rebind, local: rebind.local, leases: each.value }
    rebind.reject(each.reason)
    return []
  })
  if (ready.length === 0) return
  const areThere = await rebindAll(context, ready)
  for (const [index, { rebind }] of ready.entries()) rebind.resolve(areThere[index] as boolean)
}

/** Binds the claim's keys to another lease now; false when they are gone. */
export function rebind(
  context: StoreContext,
  local: LocalClaim,
  next: Soon<EtcdLease>,
  delay: EtcdLease | null = null,
): Promise<boolean> {
  return withLeases(async () => {
    const [isThere] = await rebindAll(context, [{ local, leases: { lease: await next, delay } }])
    return isThere as boolean
  })
}

/** Binds the keys of several claims to other leases in one transaction: false for those that are gone. */
async function rebindAll(
  context: StoreContext,
  rebindings: readonly Rebinding[],
): Promise<readonly boolean[]> {
  const values = rebindings.map(({ local }) => boundValue(local))
  const success = rebindings.map(({ local, leases }, index): Op => {
    const { claim, name } = local
    const ops = claimOps({ claim, name, value: values[index] as ClaimValue, leases, order: orderOf(local) })
    return { kind: 'txn', compare: [present(local)], success: ops }
  })
  const bound = new Set(rebindings.flatMap(({ leases }) => listOf(leases)))
  const binding = { txn: { success }, leases: bound }
  try {
    return await bind(context, binding, ({ results, header }) =>
      rebindings.map((rebinding, index) => {
        const isThere = results[index]?.txn?.succeeded === true
        return noteRebound(context, rebinding, values[index] as ClaimValue, isThere, header.revision)
      }),
    )
  } catch (error) {
    // The claim may be bound to either lease, so this store relies on neither.
    if (isUnknown(error)) for (const { local } of rebindings) context.leases.retire(local.lease)
    throw error
  }
}

/** The value names the grant's revision, because the key's own revisions change now. */
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
  // The claim was released, or expired, while the transaction was in flight.
  if (isThere) endStray(context, local, leases)
  else context.claims.drop(local)
  return false
}

/** The claim's order if its key is in the queue, else null. */
function orderOf({ claim, name, order }: LocalClaim): number | null {
  return name === queueName(claim.key, claim.mode.kind, order, claim.id) ? order : null
}

import type { Claim } from '../../model/index.ts'
import { bind, type StoreContext } from './context.ts'
import { free, unknown, unqueuedNames } from './guards.ts'
import { type Draft, draftHold, holdLeases, holdOps, listOf } from './hold.ts'
import type { Lease } from './client/leases.ts'
import { claimName, pointerName } from './names.ts'
import type { Queue } from './queue.ts'
import { snapshotOps } from './snapshot.ts'
import { type ClaimValue, claimValue } from './format.ts'
import type { Op, RangeOp, Txn } from './client/requests.ts'
import type { TxnResult } from './client/responses.ts'

/** A claim that this store has not sent before. */
export interface Fresh {
  readonly claim: Claim
  /** What it becomes when it is granted. For permits it is written at once, and holds if the order says so. */
  readonly draft: Draft
  readonly waitingLease: Lease
}

export async function prepare(context: StoreContext, queue: Queue, claim: Claim): Promise<Fresh> {
  const leases = await holdLeases(context, claim)
  const waitingLease = claim.queue ? await queue.leaseFor(claim) : leases.lease
  const draft = draftHold(context, claim, leases)
  if (!isAddedUp(claim)) return { claim, draft, waitingLease }
  const { inbox, runtime } = context
  const name = claimName(claim.key, 'join', 'permits', claim.id)
  const value = claimValue(claim, inbox.address, 'trying', runtime.wallMs())
  return { claim, draft: { ...draft, name, value }, waitingLease }
}

/**
 * New claims of different keys, in one transaction. Each is answered by itself: a lease that cannot be had, or does not last, concerns
 * those alone that need it. `settle` says what the transaction has made of a claim.
 */
export async function sendFresh<A>(
  context: StoreContext,
  queue: Queue,
  claims: readonly Claim[],
  settle: (fresh: Fresh, result: TxnResult, revision: number) => Promise<A>,
): Promise<readonly Promise<A>[]> {
  const prepared = await Promise.allSettled(claims.map((claim) => prepare(context, queue, claim)))
  const fresh = prepared.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  const sent = fresh.length === 0 ? [] : [...(await send(context, fresh, settle))]
  return prepared.map((each) =>
    each.status === 'fulfilled' ? (sent.shift() as Promise<A>) : heard(Promise.reject(each.reason)),
  )
}

function send<A>(
  context: StoreContext,
  fresh: readonly Fresh[],
  settle: (fresh: Fresh, result: TxnResult, revision: number) => Promise<A>,
): Promise<readonly Promise<A>[]> {
  const leases = new Set(fresh.flatMap(({ draft, waitingLease }) => [...listOf(draft.leases), waitingLease]))
  const lasting = fresh.map(({ claim, draft }) =>
    heard(Promise.resolve(context.leases.fresh(draft.leases.lease, claim.ttlMs))),
  )
  const txns = fresh.map((each) => freshTxn(context, each))
  const [first] = txns as [Txn]
  const all = txns.map((txn): Op => ({ kind: 'txn', ...txn }))
  const txn = txns.length === 1 ? first : { compare: [], success: all, failure: [] }
  return bind(context, { txn, leases }, (answer) => {
    const { revision } = answer.header
    const results = txns.length === 1 ? [answer] : answer.results.map((result) => result.txn as TxnResult)
    return fresh.map((each, index) => {
      const settled = heard(settle(each, results[index] as TxnResult, revision))
      return heard((lasting[index] as Promise<void>).then(() => settled))
    })
  })
}

/** Awaited later, and it may fail before that. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore)
  return promise
}

function ignore(): void {}

/** One transaction: the key if nobody is in the way; else a claim that queues arrives, and gets its position in a second one. */
function freshTxn(context: StoreContext, fresh: Fresh): Txn {
  const { claim, draft } = fresh
  const look = lookOps(claim)
  if (isAddedUp(claim)) {
    // What closes the key after an expiry is written once it is known to hold.
    const [put] = holdOps(draft) as [Op]
    return { compare: unknown(claim), success: [put, ...look], failure: look }
  }
  const compare = [...free(claim), ...(claim.mode.kind === 'shared' ? unknown(claim) : [])]
  // A named owner may have to join its own hold, past the queue.
  const failure = claim.queue && claim.owner === null ? [arrivalOp(context, fresh)] : look
  return { compare, success: holdOps(draft), failure }
}

export function arrivalOp(context: StoreContext, { claim, waitingLease }: Fresh): Op & { kind: 'txn' } {
  const { key, id, mode } = claim
  const put: Op = {
    kind: 'put',
    key: claimName(key, 'join', mode.kind, id),
    value: JSON.stringify(waitingValue(context, claim)),
    lease: waitingLease.id,
  }
  return { kind: 'txn', compare: unknown(claim), success: [put], failure: lookOps(claim) }
}

export function waitingValue({ inbox, runtime }: StoreContext, claim: Claim): ClaimValue {
  return claimValue(claim, inbox.address, 'waiting', runtime.wallMs())
}

/** Permits are not compared but added up, so such a claim arrives and looks who came before it. */
export function isAddedUp({ mode, owner }: Claim): boolean {
  return mode.kind === 'permits' && owner === null
}

/** Whether the claim is there already, and what is before it. */
function lookOps(claim: Claim): RangeOp[] {
  const { key, id, mode, owner } = claim
  const names = [...unqueuedNames(claim), pointerName(key, id)]
  const own = names.map((name): RangeOp => ({ kind: 'range', key: name, countOnly: true }))
  return [...own, ...snapshotOps(key, mode, Number.POSITIVE_INFINITY, owner !== null)]
}

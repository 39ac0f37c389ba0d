import type { Claim } from '../../model/index.ts'
import type { EtcdLease } from './client/leases.ts'
import type { Op, RangeOp, Txn } from './client/requests.ts'
import type { TxnResult } from './client/responses.ts'
import { bind, type StoreContext, withLeases } from './context.ts'
import { claimValue } from './format.ts'
import { claimAbsent, free, unqueuedNames } from './guards.ts'
import { claimOps, draftHold, type HoldDraft, holdLeases, listOf, noteHold } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import { claimName, pointerName } from './names.ts'
import { noteArrival, queueLease } from './queue.ts'
import { type QueueSnapshot, RANGES, snapshotOf, snapshotOps } from './snapshot.ts'

/** A claim that this store has not sent before. */
interface NewClaim {
  readonly claim: Claim
  /** The hold to write. A claim for permits is always written, and holds if those before it leave enough permits. */
  readonly draft: HoldDraft
  readonly waitingLease: EtcdLease
}

/** The result of the transaction for one new claim. */
export type NewClaimResult = { readonly claim: Claim; readonly sentAtMs: number } & (
  | { readonly kind: 'granted'; readonly seq: number }
  /** It is in etcd, without a position in the queue. */
  | { readonly kind: 'arrived'; readonly local: LocalClaim }
  /** A claim for permits is in etcd; whether it holds depends on the claims before it. */
  | {
      readonly kind: 'tried'
      readonly local: LocalClaim
      readonly draft: HoldDraft
      readonly snapshot: QueueSnapshot
      readonly revision: number
    }
  /** Nothing was written; `isKnown` if etcd has the claim already. */
  | { readonly kind: 'undecided'; readonly snapshot: QueueSnapshot; readonly isKnown: boolean }
)

/** A result, and the keep-alive that makes the lease of the hold last. */
export interface SentClaim {
  readonly result: NewClaimResult
  readonly lasting: Promise<void>
}

/**
 * Sends new claims of different keys in one transaction. Each has its own outcome: a lease that cannot be had concerns
 * only the claims that need it.
 */
export function sendNew(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly PromiseSettledResult<SentClaim>[]> {
  return withLeases(async () => {
    const prepared = await Promise.allSettled(claims.map((claim) => prepare(context, claim)))
    const ready = prepared.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    const sent = ready.length === 0 ? [] : [...(await send(context, ready))]
    return prepared.map((each) =>
      each.status === 'rejected' ? each : { status: 'fulfilled', value: sent.shift() as SentClaim },
    )
  })
}

async function prepare(context: StoreContext, claim: Claim): Promise<NewClaim> {
  const leases = await holdLeases(context, claim)
  const waitingLease = claim.queue ? await queueLease(context, claim) : leases.lease
  const draft = draftHold(context, claim, leases)
  if (!isAddedUp(claim)) return { claim, draft, waitingLease }
  const { inbox, runtime } = context
  const name = claimName(claim.key, 'join', 'permits', claim.id)
  const value = claimValue(claim, inbox.address, 'trying', runtime.wallMs())
  return { claim, draft: { ...draft, name, value }, waitingLease }
}

function send(context: StoreContext, claims: readonly NewClaim[]): Promise<readonly SentClaim[]> {
  const leases = new Set(claims.flatMap(({ draft, waitingLease }) => [...listOf(draft.leases), waitingLease]))
  const lasting = claims.map(async ({ claim, draft }) =>
    context.leases.extend(draft.leases.lease, claim.ttlMs),
  )
  // Awaited by the caller, later than it may fail.
  for (const each of lasting) each.catch(ignore)
  const txns = claims.map((each) => newClaimTxn(context, each))
  const all = txns.map((txn): Op => ({ kind: 'txn', ...txn }))
  const txn = txns.length === 1 ? (txns[0] as Txn) : { success: all }
  return bind(context, { txn, leases }, (answer) => {
    const results = txns.length === 1 ? [answer] : answer.results.map((result) => result.txn as TxnResult)
    return claims.map((each, index) => ({
      result: note(context, each, results[index] as TxnResult, answer.header.revision),
      lasting: lasting[index] as Promise<void>,
    }))
  })
}

/** Grants the key if it is free; otherwise a claim that queues arrives, and a second transaction gives it its position. */
function newClaimTxn(context: StoreContext, { claim, draft, waitingLease }: NewClaim): Txn {
  const look = lookOps(claim)
  if (isAddedUp(claim)) {
    // The `shut` key follows once the claim is known to hold.
    const [put] = claimOps(draft) as [Op]
    return { compare: claimAbsent(claim), success: [put, ...look], failure: look }
  }
  const compare = [...free(claim), ...(claim.mode.kind === 'shared' ? claimAbsent(claim) : [])]
  // A named owner may join its own hold, past the queue.
  const failure = claim.queue && claim.owner === null ? [arrivalOp(context, claim, waitingLease)] : look
  return { compare, success: claimOps(draft), failure }
}

/** Enters the written keys among the local claims, at once. */
function note(context: StoreContext, sent: NewClaim, txn: TxnResult, revision: number): NewClaimResult {
  const { claim, draft, waitingLease } = sent
  const { sentAtMs, name, value, leases } = draft
  const common = { claim, sentAtMs }
  if (txn.succeeded && isAddedUp(claim)) {
    const snapshot = snapshotOf(claim.key, txn.results, revision, claim.id)
    const stored = { name, value, created: revision, changed: revision, order: revision }
    const local = noteArrival(context, claim, stored, leases.lease, leases.lease, sentAtMs)
    return { ...common, kind: 'tried', local, draft, snapshot, revision }
  }
  if (txn.succeeded)
    return { ...common, kind: 'granted', seq: noteHold(context, draft, revision, revision).seq }
  const arrival = txn.results.at(-1)?.txn
  if (arrival?.succeeded === true)
    return { ...common, kind: 'arrived', local: noteJoining(context, sent, revision, waitingLease) }
  const results = arrival?.results ?? txn.results
  const snapshot = snapshotOf(claim.key, results, revision, claim.id)
  const isKnown = results.slice(0, -RANGES).some(({ count }) => count > 0)
  return { ...common, kind: 'undecided', snapshot, isKnown }
}

function noteJoining(
  context: StoreContext,
  { claim, draft }: Pick<NewClaim, 'claim' | 'draft'>,
  revision: number,
  waitingLease: EtcdLease,
): LocalClaim {
  const { key, id, mode } = claim
  const stored = {
    name: claimName(key, 'join', mode.kind, id),
    value: claimValue(claim, context.inbox.address, 'waiting', context.runtime.wallMs()),
    created: revision,
    changed: revision,
    order: revision,
  }
  return noteArrival(context, claim, stored, waitingLease, draft.leases.lease, draft.sentAtMs)
}

/** Lets a claim arrive that could neither join a hold nor be granted; null if etcd has the claim already. */
export function sendArrival(context: StoreContext, claim: Claim): Promise<LocalClaim | null> {
  return withLeases(async () => {
    const sent = await prepare(context, claim)
    const { waitingLease } = sent
    const txn = arrivalOp(context, claim, waitingLease)
    return bind(context, { txn, leases: [waitingLease] }, ({ succeeded, header }) =>
      succeeded ? noteJoining(context, sent, header.revision, waitingLease) : null,
    )
  })
}

function arrivalOp({ inbox, runtime }: StoreContext, claim: Claim, lease: EtcdLease): Txn & { kind: 'txn' } {
  const { key, id, mode } = claim
  const value = claimValue(claim, inbox.address, 'waiting', runtime.wallMs())
  const name = claimName(key, 'join', mode.kind, id)
  const put: Op = { kind: 'put', key: name, value: JSON.stringify(value), lease: lease.id }
  return { kind: 'txn', compare: claimAbsent(claim), success: [put], failure: lookOps(claim) }
}

/** Permits are added up, not compared, so such a claim arrives first and then counts the claims before it. */
function isAddedUp({ mode, owner }: Claim): boolean {
  return mode.kind === 'permits' && owner === null
}

/** Reads whether etcd has the claim already, and the claims before it. */
function lookOps(claim: Claim): RangeOp[] {
  const { key, id, mode, owner } = claim
  const names = [...unqueuedNames(claim), pointerName(key, id)]
  const own = names.map((name): RangeOp => ({ kind: 'range', key: name, countOnly: true }))
  return [...own, ...snapshotOps(key, mode, Number.POSITIVE_INFINITY, owner !== null)]
}

function ignore(): void {}

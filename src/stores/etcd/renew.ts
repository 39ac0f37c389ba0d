import type { RenewReply, Unknown } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import { recover } from './acquire.ts'
import type { RangeOp } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'
import { chunksOf, type StoreContext } from './context.ts'
import { rearm } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import { contendedOp, isContended } from './notifications.ts'
import { lookAtQueue } from './queue.ts'
import { secure } from './rebind.ts'
import { entryOf } from './snapshot.ts'

/** Two operations each, of the 128 of a transaction. */
const CLAIMS_PER_CALL = 60
const LOST = { kind: 'lost' } as const

interface Renewal {
  readonly local: LocalClaim
  readonly claim: Claim
}

/** Renews holds and positions in the queue: one keep-alive per lease, and one read of its own key per claim. */
export async function renew(context: StoreContext, claims: readonly Claim[]): Promise<readonly RenewReply[]> {
  const answers = new Array<Promise<RenewReply>>(claims.length)
  const known: (Renewal & { readonly index: number })[] = []
  for (const [index, claim] of claims.entries()) {
    const local = context.claims.get(claim)
    if (local === undefined) answers[index] = renewUnknown(context, claim).catch(unknownAnswer)
    else if (mayBeNext(local)) answers[index] = renewByLook(context, local, claim).catch(unknownAnswer)
    else {
      rearm(context, local, claim.ttlMs)
      known.push({ local, claim, index })
    }
  }
  for (const some of chunksOf(known, CLAIMS_PER_CALL)) {
    const renewing = renewKnown(context, some)
    for (const [at, { index }] of some.entries())
      answers[index] = renewing.then((renewed) => renewed[at] as RenewReply).catch(unknownAnswer)
  }
  return Promise.all(answers)
}

/** Reads whether the claims are still there, while the leases of holds are extended. */
async function renewKnown(
  context: StoreContext,
  renewals: readonly Renewal[],
): Promise<readonly RenewReply[]> {
  const success = renewals.flatMap(({ local }): RangeOp[] => {
    const { key, mode } = local.claim
    const own: RangeOp = { kind: 'range', key: local.name }
    return local.state === 'held' ? [own, contendedOp(key, mode.kind)] : [own]
  })
  const before = renewals.map(({ local }) => ({ state: local.state, created: local.created }))
  const securing = Promise.all(
    renewals.map(({ local, claim }) =>
      local.state === 'held' ? secure(context, local, claim).catch(unknownAnswer) : true,
    ),
  )
  const { results } = await context.client.txn({ success })
  const secured = await securing
  let next = 0
  const answers = renewals.map((renewal, index): RenewReply | Promise<RenewReply> => {
    const { state, created } = before[index] as (typeof before)[number]
    const own = results[next++] as OpResult
    const isThere = own.kvs[0]?.created === created
    if (state !== 'held') return renewedWaiting(context, renewal, isThere, own).catch(unknownAnswer)
    const contended = isContended(results[next++] as OpResult, renewal.claim.id)
    return renewedHold(context, renewal.local, isThere, contended, secured[index] ?? false)
  })
  return Promise.all(answers)
}

function renewedHold(
  { claims }: StoreContext,
  local: LocalClaim,
  isThere: boolean,
  contended: boolean,
  secured: boolean | Unknown,
): RenewReply {
  if (isThere && secured !== false) return secured === true ? { kind: 'renewed', contended } : secured
  claims.drop(local)
  return LOST
}

/** A waiter may have become a hold meanwhile; the renewal then confirms it. */
async function renewedWaiting(
  context: StoreContext,
  { local, claim }: Renewal,
  isThere: boolean,
  { kvs: [kv] }: OpResult,
): Promise<RenewReply> {
  const { claims, runtime } = context
  const now = claims.get(claim)
  if (now === undefined) return LOST
  if (now.state === 'held') return confirm(context, now, claim)
  if (now !== local || (isThere && kv !== undefined && entryOf(kv).value.state === 'held'))
    return renewByLook(context, now, claim)
  if (isThere) return { kind: 'waiting', position: local.position, storeTimeMs: runtime.nowMs() }
  claims.drop(local)
  return LOST
}

async function renewByLook(context: StoreContext, local: LocalClaim, claim: Claim): Promise<RenewReply> {
  rearm(context, local, claim.ttlMs)
  const sentAtMs = context.runtime.nowMs()
  const look = await lookAtQueue(context, local)
  if (look.kind === 'blocked') return { kind: 'waiting', position: look.position, storeTimeMs: sentAtMs }
  const held = context.claims.get(claim)
  return look.kind === 'granted' && held !== undefined ? confirm(context, held, claim) : LOST
}

async function confirm(context: StoreContext, held: LocalClaim, claim: Claim): Promise<RenewReply> {
  rearm(context, held, claim.ttlMs)
  return (await renewKnown(context, [{ local: held, claim }]))[0] ?? LOST
}

async function renewUnknown(context: StoreContext, claim: Claim): Promise<RenewReply> {
  if (context.claims.dying.has(claim.id)) return LOST
  const local = await recover(context, claim)
  if (local === undefined) return LOST
  return local.state === 'held' ? confirm(context, local, claim) : renewByLook(context, local, claim)
}

/** The first waiters look themselves: the claim before them may have gone at this moment. */
function mayBeNext({ state, position }: LocalClaim): boolean {
  return state === 'joining' || (state === 'waiting' && position <= 2)
}

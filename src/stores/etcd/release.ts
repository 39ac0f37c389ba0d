import type { ReleaseReply } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import type { Op } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'
import { chunksOf, type StoreContext } from './context.ts'
import { type PointerValue, parseValue } from './format.ts'
import { unqueuedNames } from './guards.ts'
import { endOps } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import { pointerName, queueName } from './names.ts'

/** Every claim takes up to five of the 128 operations of a transaction. */
const CLAIMS_PER_CALL = 25
const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

/** Releases holds and positions in the queue. */
export async function release(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ReleaseReply[]> {
  const parts = chunksOf(claims, CLAIMS_PER_CALL).map((some) => releaseSome(context, some))
  return (await Promise.all(parts)).flat()
}

async function releaseSome(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ReleaseReply[]> {
  const locals = claims.map((claim) => context.claims.get(claim))
  // From now on nothing renews or grants them.
  for (const local of locals) if (local !== undefined) context.claims.drop(local)
  const ops = claims.map((claim, index) => opsOf(claim, locals[index]))
  try {
    const found = await send(context, ops)
    const queued = await releaseQueued(context, claims, found)
    return claims.map((_, index) => (queued[index] || found[index]?.some(isFound) ? RELEASED : ABSENT))
  } catch (error) {
    // The keys must end with their leases, which other claims would keep alive.
    for (const local of locals) if (local !== undefined) context.leases.retire(local.lease)
    return claims.map(() => unknownAnswer(error as Error))
  }
}

function opsOf(claim: Claim, local: LocalClaim | undefined): Op[] {
  // A waiter may have become a hold whose answer is still in flight.
  const delayed = claim.lockDelayMs > 0
  if (local === undefined) {
    const ends = unqueuedNames(claim).flatMap((name) => endOps(claim, name, delayed))
    return [...ends, { kind: 'range', key: pointerName(claim.key, claim.id) }]
  }
  const ends = endOps(local.claim, local.name, delayed)
  if (local.state === 'held') return ends
  // Its position may be in flight, and the hold of a named owner leaves the queue.
  const { key, id, mode } = local.claim
  const queue = queueName(key, mode.kind, local.order, id)
  const names = [queue, ...unqueuedNames(local.claim)].filter((name) => name !== local.name)
  return [...ends, ...names.flatMap((name) => endOps(local.claim, name, delayed))]
}

/** Sends all operations in one transaction, and returns the results by claim. */
async function send(
  { client }: StoreContext,
  ops: readonly (readonly Op[])[],
): Promise<readonly (readonly OpResult[])[]> {
  const { results } = await client.txn({ success: ops.flat() })
  let next = 0
  return ops.map(({ length }) => {
    next += length
    return results.slice(next - length, next)
  })
}

/** Ends positions of claims that this store did not know. */
async function releaseQueued(
  context: StoreContext,
  claims: readonly Claim[],
  found: readonly (readonly OpResult[])[],
): Promise<readonly boolean[]> {
  const ops = claims.map((claim, index) => {
    const kv = found[index]?.flatMap(({ kvs }) => kvs)[0]
    const pointer = kv === undefined ? null : parseValue<PointerValue>(kv.value)
    if (pointer === null) return []
    const name = queueName(claim.key, pointer.mode, pointer.order, claim.id)
    return endOps(claim, name, claim.lockDelayMs > 0)
  })
  if (ops.every(({ length }) => length === 0)) return []
  return (await send(context, ops)).map((results) => results.some(isFound))
}

/** A found pointer is no claim: it only shows where the claim is. */
function isFound({ count, txn, kvs }: OpResult): boolean {
  return txn === null ? count > 0 && kvs.length === 0 : txn.succeeded
}

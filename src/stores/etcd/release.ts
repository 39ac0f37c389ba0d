import type { ReleaseReply, Unknown } from '../../core/store.ts'
import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import type { StoreContext } from './context.ts'
import { unqueuedNames } from './guards.ts'
import { endOps } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import { pointerName, queueName } from './names.ts'
import { type PointerValue, parseValue } from './format.ts'
import type { Op } from './client/requests.ts'
import type { OpResult, TxnResult } from './client/responses.ts'

/** Every claim takes up to five of the 128 operations that a transaction may have. */
const CLAIMS_PER_CALL = 25

/** Gives back holds and positions in the queue. */
export async function release(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ReleaseReply[]> {
  if (claims.length <= CLAIMS_PER_CALL) return releaseSome(context, claims)
  const parts: Promise<readonly ReleaseReply[]>[] = []
  for (let first = 0; first < claims.length; first += CLAIMS_PER_CALL)
    parts.push(releaseSome(context, claims.slice(first, first + CLAIMS_PER_CALL)))
  return (await Promise.all(parts)).flat()
}

async function releaseSome(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ReleaseReply[]> {
  const locals = claims.map((claim) => context.claims.get(claim))
  // From now on nobody is to renew or grant them.
  for (const local of locals) if (local !== undefined) context.claims.drop(local)
  const ops = claims.map((claim, index) => opsOf(claim, locals[index]))
  try {
    const found = await foundBy(context, ops)
    const queued = await releaseQueued(context, claims, found)
    return claims.map((_, index) => (queued[index] || found[index]?.some(isFound) ? RELEASED : ABSENT))
  } catch (error) {
    // What was not released must end with its lease, which other claims would keep alive.
    for (const local of locals) if (local !== undefined) context.leases.retire(local.lease)
    const unknown: Unknown = { kind: 'unknown', error: error as Error }
    return claims.map(() => unknown)
  }
}

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

function opsOf(claim: Claim, local: LocalClaim | undefined): Op[] {
  // One that waits may have become a hold, and its answer is on the way.
  const delayed = claim.lockDelayMs > 0
  if (local === undefined) {
    // It may stand under any name that its mode allows.
    const ends = unqueuedNames(claim).flatMap((name) => endOps(claim, name, delayed))
    return [...ends, { kind: 'range', key: pointerName(claim.key, claim.id) }]
  }
  const ends = endOps(local.claim, local.name, delayed)
  if (local.state === 'held') return ends
  // Its position may be on the way, and an owner's hold moves out of the queue.
  const { key, id, mode } = local.claim
  const queue = queueName(key, mode.kind, local.order, id)
  const names = [queue, ...unqueuedNames(local.claim)].filter((name) => name !== local.name)
  return [...ends, ...names.flatMap((name) => endOps(local.claim, name, delayed))]
}

async function foundBy(
  { client }: StoreContext,
  ops: readonly (readonly Op[])[],
): Promise<readonly (readonly OpResult[])[]> {
  const { results }: TxnResult = await client.txn({ compare: [], success: ops.flat(), failure: [] })
  let next = 0
  return ops.map(({ length }) => {
    next += length
    return results.slice(next - length, next)
  })
}

/** Ends claims that this store did not know, and that have a position in the queue. */
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
  return (await foundBy(context, ops)).map((results) => results.some(isFound))
}

/** A range only says where to look. */
function isFound({ count, txn, kvs }: OpResult): boolean {
  return txn === null ? count > 0 && kvs.length === 0 : txn.succeeded
}

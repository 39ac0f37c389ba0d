import type { Claim } from '../../model/index.ts'
import { free, freeForReader, unknown } from './guards.ts'
import { type Draft, holdOps } from './holding.ts'
import type { Lease } from './leases.ts'
import { type Line, lineOf } from './line.ts'
import { claimName, lineZone, wholeOf } from './names.ts'
import type { ClaimValue } from './value.ts'
import type { Op, PutOp, RangeOp, Txn } from './wire/requests.ts'
import type { KeyValue, TxnResult } from './wire/responses.ts'

/** A claim that this store has not sent before, with what it becomes when it is granted and when it has to wait. */
export interface Fresh {
  readonly claim: Claim
  readonly draft: Draft
  readonly waiting: ClaimValue
  readonly waitingLease: Lease
}

/** `seen`: the transaction wrote nothing. `joined`: it is in the line now. `trying`: it is, and may hold already. */
export type Outcome =
  | { readonly kind: 'granted' }
  | { readonly kind: 'seen' | 'joined' | 'trying'; readonly line: Line }

/** Everything about the key. */
export function whole(key: string): RangeOp {
  return { kind: 'range', ...wholeOf(key) }
}

/** Permits are not compared but added up, so such a claim enters the line and looks who came before it. */
export function triesFirst({ mode, owner }: Claim): boolean {
  return mode.kind === 'permits' && owner === null
}

/** One transaction: the key if nobody is in the way, else a place in the line for a claim that queues. */
export function freshTxn(fresh: Fresh): Txn {
  const { claim, draft } = fresh
  const { key, mode, queue, owner } = claim
  const look = whole(key)
  if (triesFirst(claim)) {
    // What closes the key after an expiry is written once it is known to hold.
    const [put] = holdOps(draft) as [Op]
    return { compare: unknown(claim), success: [put, look], failure: [look] }
  }
  const compare = mode.kind === 'shared' ? [...freeForReader(key), ...unknown(claim)] : free(key)
  // A named owner may have to join its own hold, past the line.
  const failure: Op[] = queue && owner === null ? [joinOp(fresh)] : [look]
  return { compare, success: holdOps(draft), failure }
}

/** A place at the end of the line, if the claim has none. */
export function joinTxn({ claim, waiting, waitingLease }: Fresh): Txn {
  const { key, id, mode } = claim
  const name = claimName(key, lineZone(mode), id)
  const put: PutOp = { kind: 'put', key: name, value: JSON.stringify(waiting), lease: waitingLease.id }
  const look = whole(key)
  return { compare: unknown(claim), success: [put, look], failure: [look] }
}

export function freshOutcome({ claim }: Fresh, { succeeded, results }: TxnResult, revision: number): Outcome {
  const lineFrom = (kvs: readonly KeyValue[]): Line => lineOf(claim.key, kvs, revision)
  const last = results.at(-1)
  if (triesFirst(claim)) return { kind: succeeded ? 'trying' : 'seen', line: lineFrom(last?.kvs ?? []) }
  if (succeeded) return { kind: 'granted' }
  const inner = last?.txn
  if (inner == null) return { kind: 'seen', line: lineFrom(last?.kvs ?? []) }
  return { kind: inner.succeeded ? 'joined' : 'seen', line: lineFrom(inner.results.at(-1)?.kvs ?? []) }
}

function joinOp(fresh: Fresh): Op {
  return { kind: 'txn', ...joinTxn(fresh) }
}

import type { Runtime } from '../../core/runtime.ts'
import type { Soon, StoreNotice } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'

import type { EtcdClient } from './client/client.ts'
import { isRefusal } from './client/cluster.ts'
import type { Inbox } from './notifications.ts'
import type { Lease, Leases } from './client/leases.ts'
import type { LocalClaims } from './local-claims.ts'
import type { Moves } from './rebind.ts'
import { NOT_FOUND } from './client/grpc.ts'
import type { Compare, Op, Txn } from './client/requests.ts'
import type { Header, TxnResult } from './client/responses.ts'

/** What the parts of one store share. */
export interface StoreContext {
  readonly client: EtcdClient
  readonly runtime: Runtime
  readonly leases: Leases
  readonly claims: LocalClaims
  readonly inbox: Inbox
  readonly moves: Moves
  tell(notice: StoreNotice): void
}

/** A server whose lease is gone has done nothing: with another lease the same can be asked again. */
const LEASES_TRIED = 3

/** The lease that a transaction was to bind a key to is gone. Nothing was done. */
class LeaseGoneError extends StoreError {}

/** Whether a transaction that failed may have been done, or may yet be. */
export function isUnknown(error: unknown): boolean {
  return !(error instanceof LeaseGoneError) && !isRefusal(error)
}

/** What a transaction needs that binds keys to leases. */
interface Binding {
  readonly txn: Txn
  readonly leases: Iterable<Lease>
  /** What makes the leases last, while the transaction is under way. */
  readonly lasting?: Iterable<Soon<void>>
}

/**
 * A transaction that binds keys to leases. A lease is kept alive for all of its claims, so every key in etcd is either known to
 * the local claims, which ends it in time, or bound to a lease that nobody keeps alive:
 *
 * - `note` enters among the local claims what the transaction wrote, in the same turn in which its answer is there, also when the
 *   leases turn out not to last. The caller hears of a failure after that.
 * - When the outcome is unknown the transaction may still arrive, so its leases are retired.
 */
export async function bind<T>(
  context: StoreContext,
  { txn, leases, lasting = [] }: Binding,
  note: (answer: TxnResult & { readonly header: Header }) => T,
): Promise<T> {
  const [noted, ...lasted] = await Promise.allSettled([send(context, leases, txn).then(note), ...lasting])
  for (const each of [noted, ...lasted]) if (each.status === 'rejected') throw each.reason
  return (noted as PromiseFulfilledResult<Awaited<T>>).value
}

async function send(
  { client, leases }: StoreContext,
  bound: Iterable<Lease>,
  txn: Txn,
): Promise<TxnResult & { readonly header: Header }> {
  try {
    return await client.txn(txn)
  } catch (error) {
    const refused = isRefusal(error)
    if (refused && error.status !== NOT_FOUND) throw error
    for (const lease of bound) leases.retire(lease)
    throw refused ? new LeaseGoneError(error.message, { cause: error }) : error
  }
}

/** Ends a key that no claim needs. When that fails it ends with its lease, which is kept alive no more. */
export async function discard(
  { client, leases }: StoreContext,
  lease: Lease | null,
  compare: readonly Compare[],
  success: readonly Op[],
  failure: readonly Op[] = [],
): Promise<void> {
  try {
    await client.txn({ compare, success, failure })
  } catch (error) {
    if (lease !== null) leases.retire(lease)
    throw error
  }
}

/** Does it again when a lease was gone. */
export async function withLeases<T>(task: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof LeaseGoneError) || tries === LEASES_TRIED) throw error
    }
  }
}

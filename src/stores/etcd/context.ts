import type { Runtime, Timer } from '../../core/runtime.ts'
import type { Soon, StoreNotice } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { EtcdClient } from './client/client.ts'
import { isRefusal } from './client/cluster.ts'
import { NOT_FOUND } from './client/grpc.ts'
import type { EtcdLease, EtcdLeases } from './client/leases.ts'
import type { Compare, Op, Txn } from './client/requests.ts'
import type { Header, TxnResult } from './client/responses.ts'
import type { LocalClaims } from './local-claims.ts'
import type { EtcdInbox } from './notifications.ts'
import type { RebindQueue } from './rebind.ts'

/** The parts of one store, for its operations. */
export interface StoreContext {
  readonly client: EtcdClient
  readonly runtime: Runtime
  readonly leases: EtcdLeases
  readonly claims: LocalClaims
  readonly inbox: EtcdInbox
  readonly rebinds: RebindQueue
  /** Timers that open keys after a lock delay. */
  readonly delays: Set<Timer>
  tell(notice: StoreNotice): void
}

/** A transaction on an ended lease does nothing, so it can be repeated with another lease. */
const LEASES_TRIED = 3

/** The transaction named a lease that has ended. Nothing was done. */
class LeaseGoneError extends StoreError {}

/** True if a failed transaction may have been executed, or may yet be. */
export function isUnknown(error: unknown): boolean {
  return !(error instanceof LeaseGoneError) && !isRefusal(error)
}

/** A transaction that binds keys to leases. */
interface Binding {
  readonly txn: Txn
  readonly leases: Iterable<EtcdLease>
  /** Keep-alives in flight that make the leases last. */
  readonly lasting?: Iterable<Soon<void>>
}

/**
 * Sends a transaction that binds keys to leases. A lease is kept alive for all of its claims, so every key in etcd must be either a
 * local claim, which this store ends in time, or bound to a lease that this store no longer keeps alive:
 *
 * - `note` enters the written keys among the local claims, in the same turn as the answer arrives, even when the leases
 *   do not last. Only then does the caller get the failure.
 * - After an unknown outcome the transaction may still arrive, so its leases are retired.
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
  bound: Iterable<EtcdLease>,
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

/** Deletes a key that no claim needs. If that fails, its lease gets no more keep-alives and ends the key. */
export async function discard(
  { client, leases }: StoreContext,
  lease: EtcdLease | null,
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

/** Repeats a task whose lease had ended. */
export async function withLeases<T>(task: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof LeaseGoneError) || tries === LEASES_TRIED) throw error
    }
  }
}

/** Splits a list, because a transaction may have 128 operations. */
export function chunksOf<T>(all: readonly T[], most: number): readonly T[][] {
  const chunks: T[][] = []
  for (let first = 0; first < all.length; first += most) chunks.push(all.slice(first, first + most))
  return chunks
}

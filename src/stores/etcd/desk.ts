import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { Book } from './book.ts'
import type { EtcdClient } from './client/client.ts'
import { isRefusal } from './client/cluster.ts'
import type { Inbox } from './inbox.ts'
import type { Lease, Leases } from './leases.ts'
import { NOT_FOUND } from './wire/grpc.ts'
import type { Txn } from './wire/requests.ts'
import type { Header, TxnResult } from './wire/responses.ts'

/** What the parts of one store share. */
export interface Desk {
  readonly client: EtcdClient
  readonly runtime: Runtime
  readonly leases: Leases
  readonly book: Book
  readonly inbox: Inbox
  tell(notice: StoreNotice): void
}

/** A server whose lease is gone has done nothing: with another lease the same can be asked again. */
const LEASES_TRIED = 3

/** The lease that a transaction was to bind a key to is gone. Nothing was done. */
class LeaseGoneError extends StoreError {}

/**
 * A transaction that binds keys to leases. When its outcome is unknown it may still arrive, so its leases are retired:
 * whatever it brings then ends with them, or finds them gone already.
 */
export async function bind(
  { client, leases }: Desk,
  bound: readonly Lease[],
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

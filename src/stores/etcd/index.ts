import type { Store } from '../../core/store.ts'
import type { TlsOptions } from '../../core/tls.ts'
import { createStore, type EtcdOptions } from './open.ts'

export type { EtcdOptions, TlsOptions }

/**
 * A store in an etcd cluster, version 3.4 or later. It brings its own client and needs no library. It sends nothing before
 * the first call, which therefore is the first to fail if the cluster cannot be reached.
 *
 * Throws an `InvalidArgumentError` for invalid endpoints.
 */
export function etcd(options: EtcdOptions): Store {
  return createStore(options)
}

import type { Store } from '../../core/store.ts'
import type { TlsOptions } from '../../core/tls.ts'
import { createStore, type EtcdOptions } from './create.ts'

export type { EtcdOptions, TlsOptions }

/**
 * A store in an etcd cluster, version 3.4 or later. It brings its own client and needs no library. Nothing is sent before
 * the first call, so that a cluster which cannot be reached is noticed then.
 *
 * Throws an `InvalidArgumentError` for endpoints that are none.
 */
export function etcd(options: EtcdOptions): Store {
  return createStore(options)
}

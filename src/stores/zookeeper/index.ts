import type { Store } from '../../core/store.ts'
import type { TlsOptions } from '../../core/tls.ts'
import { createStore, type ZooKeeperOptions } from './open.ts'

export type { TlsOptions, ZooKeeperOptions }

/**
 * A store in an ensemble of ZooKeeper 3.5.3 or newer, by its URL: `zookeeper://user:password@host1:2181,host2:2181/path`,
 * or `zookeeper+tls://` for TLS. Credentials are those of the `digest` scheme, or of SASL with `?auth=sasl`; with them,
 * only their owner can access the nodes. All nodes are below `/holdfast`, or below the path of the URL.
 *
 * Connects on first use. Throws an `InvalidArgumentError` for an invalid URL.
 */
export function zookeeper(url: string, options: ZooKeeperOptions = {}): Store {
  return createStore(url, options)
}

import type { Store } from '../../core/store.ts'
import type { TlsOptions } from '../../core/tls.ts'
import { storeOf, type ZooKeeperOptions } from './make.ts'

export type { TlsOptions, ZooKeeperOptions }

/**
 * A store in an ensemble of ZooKeeper 3.5.3 or newer, by its URL: `zookeeper://user:password@host1:2181,host2:2181/path`,
 * or `zookeeper+tls://` for TLS. Credentials are those of the `digest` scheme, or of SASL with `?auth=sasl`; with them,
 * every node is made for their owner alone. Everything is kept below `/holdfast`, or below the path that the URL names.
 *
 * Connects when it is first used. Throws an `InvalidArgumentError` for a URL that is not one.
 */
export function zookeeper(url: string, options: ZooKeeperOptions = {}): Store {
  return storeOf(url, options)
}

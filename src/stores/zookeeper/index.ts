import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { ZooKeeperStore } from './store.ts'
import { addressOf, type ZooKeeperAddress } from './url.ts'

export interface ZooKeeperOptions {
  runtime?: Runtime
}

/**
 * A store in an ensemble of ZooKeeper 3.5.3 or newer, by its URL: `zookeeper://user:password@host1:2181,host2:2181/path`.
 * Credentials are those of the `digest` scheme; with them, every node is made for their owner alone. Everything is kept
 * below `/holdfast`, or below the path that the URL names.
 *
 * Connects when it is first used. Throws an `InvalidArgumentError` for a URL that is not one.
 */
export function zookeeper(url: string, options: ZooKeeperOptions = {}): Store {
  return storeOf(url, options.runtime ?? nodeRuntime)
}

export function storeOf(url: string, runtime: Runtime): ZooKeeperStore {
  if (typeof url !== 'string') throw new InvalidArgumentError('url', 'must be a text')
  const { servers, chroot, auth }: ZooKeeperAddress = addressOf(url)
  const digest = auth === null ? null : { scheme: 'digest', text: `${auth.user}:${auth.password}` }
  return new ZooKeeperStore({ servers, auth: digest, runtime }, chroot)
}

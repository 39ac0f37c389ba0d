import { nodeRuntime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import { createStore } from './create.ts'
import { etcdOptionsOf } from './url.ts'

/** A store over a cluster that answers: `etcd://one:2379,two:2379,three:2379`, or `etcds://` for TLS. */
export async function openEtcd(url: string): Promise<Store> {
  const options = etcdOptionsOf(url)
  const store = createStore({ ...options, runtime: nodeRuntime })
  try {
    await store.probe()
  } catch (error) {
    await store.close()
    const why = error instanceof Error ? error.message : String(error)
    // The URL may hold a password, so only the hosts are named.
    throw new StoreError(`etcd at ${options.endpoints.join(', ')} cannot be reached: ${why}`, {
      cause: error,
    })
  }
  return store
}

import { nodeRuntime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { LockError, StoreError } from '../../errors.ts'
import { storeOf } from './index.ts'
import { addressOf } from './url.ts'

/** A store that is connected, so that an ensemble which cannot be reached is told at once. */
export async function openZooKeeper(url: string): Promise<Store> {
  const store = storeOf(url, nodeRuntime)
  try {
    await store.open()
  } catch (error) {
    await store.close()
    if (error instanceof LockError) throw error
    // The URL may hold a password, so only its hosts are named.
    const hosts = addressOf(url).servers.map(({ host, port }) => `${host}:${port}`)
    const why = error instanceof Error ? error.message : String(error)
    throw new StoreError(`ZooKeeper at ${hosts.join(', ')} cannot be reached: ${why}`, { cause: error })
  }
  return store
}

import { nodeRuntime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { LockError, unreachable } from '../../errors.ts'
import { storeOf } from './make.ts'
import { addressOf } from './client/url.ts'

/** A store that is connected, so that an ensemble which cannot be reached is told at once. */
export async function openZooKeeper(url: string): Promise<Store> {
  const store = storeOf(url, { runtime: nodeRuntime })
  try {
    await store.open()
  } catch (error) {
    await store.close()
    if (error instanceof LockError) throw error
    const hosts = addressOf(url).servers.map(({ host, port }) => `${host}:${port}`)
    throw unreachable(`ZooKeeper at ${hosts.join(', ')}`, error)
  }
  return store
}

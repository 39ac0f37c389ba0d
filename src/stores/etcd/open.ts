import { nodeRuntime } from '../../core/runtime.ts'
import type { Store, StoreNotice } from '../../core/store.ts'
import { unreachable } from '../../errors.ts'
import { createStore } from './create.ts'
import type { EtcdStore } from './store.ts'
import { etcdOptionsOf } from './url.ts'

interface Shared {
  readonly store: Promise<EtcdStore>
  users: number
}

/** The stores that are open by URL: all users of one in this process share its connection, its leases and its watches. */
const opened = new Map<string, Shared>()

/** A store over a cluster that answers: `etcd://one:2379,two:2379,three:2379`, or `etcds://` for TLS. */
export async function openEtcd(url: string): Promise<Store> {
  const shared = opened.get(url) ?? { store: open(url), users: 0 }
  opened.set(url, shared)
  shared.users++
  try {
    return sharing(await shared.store, () => leave(url, shared))
  } catch (error) {
    if (opened.get(url) === shared) opened.delete(url)
    throw error
  }
}

async function open(url: string): Promise<EtcdStore> {
  const options = etcdOptionsOf(url)
  const store = createStore({ ...options, runtime: nodeRuntime })
  try {
    await store.probe()
  } catch (error) {
    await store.close()
    throw unreachable(`etcd at ${options.endpoints.join(', ')}`, error)
  }
  return store
}

async function leave(url: string, shared: Shared): Promise<void> {
  if (--shared.users > 0) return
  if (opened.get(url) === shared) opened.delete(url)
  await (await shared.store).close()
}

/** One user's part of a store: what it hears ends with it, and the store ends with the last one. */
function sharing(store: EtcdStore, leave: () => Promise<void>): Store {
  const stops = new Set<() => void>()
  let closed: Promise<void> | null = null
  return {
    traits: store.traits,
    admin: store.admin,
    records: store.records,
    attempt: (claims) => store.attempt(claims),
    renew: (claims) => store.renew(claims),
    release: (claims) => store.release(claims),
    notices(listener: (notice: StoreNotice) => void) {
      const stop = store.notices(listener)
      stops.add(stop)
      return () => {
        stops.delete(stop)
        stop()
      }
    },
    close() {
      for (const stop of stops) stop()
      closed ??= leave()
      return closed
    },
  }
}

import { answeredWithin, nodeRuntime } from '../../core/runtime.ts'
import type { Store, StoreNotice } from '../../core/store.ts'
import { unreachable } from '../../errors.ts'
import { createStore, type EtcdOptions } from './create.ts'
import type { EtcdStore } from './store.ts'
import { etcdOptionsOf } from './url.ts'

interface Shared {
  readonly store: EtcdStore
  /** Settles when the cluster has answered. */
  readonly probed: Promise<void>
  users: number
}

/** The stores that are open by URL: all users of one in this process share its connection, its leases and its watches. */
const opened = new Map<string, Shared>()

/** A store over a cluster that answers: `etcd://one:2379,two:2379,three:2379`, or `etcds://` for TLS. */
export async function openEtcd(url: string, callTimeoutMs: number): Promise<Store> {
  const options = etcdOptionsOf(url)
  const shared = opened.get(url) ?? open(options)
  opened.set(url, shared)
  shared.users++
  try {
    await answeredWithin(shared.probed, callTimeoutMs, nodeRuntime)
  } catch (error) {
    // Others may have more patience, and the next one begins anew.
    if (opened.get(url) === shared) opened.delete(url)
    await leave(url, shared)
    throw unreachable(`etcd at ${options.endpoints.join(', ')}`, error)
  }
  return sharing(shared.store, () => leave(url, shared))
}

function open(options: EtcdOptions): Shared {
  const store = createStore({ ...options, runtime: nodeRuntime })
  return { store, probed: store.probe(), users: 0 }
}

async function leave(url: string, shared: Shared): Promise<void> {
  if (--shared.users > 0) return
  if (opened.get(url) === shared) opened.delete(url)
  await shared.store.close()
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

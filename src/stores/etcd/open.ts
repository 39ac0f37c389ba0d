import { checkOptions, checkRuntime, checkText, type NamesOf } from '../../core/check.ts'
import { answeredWithin, nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store, StoreNotice } from '../../core/store.ts'
import { checkTls, type TlsOptions } from '../../core/tls.ts'
import { InvalidArgumentError, unreachable } from '../../errors.ts'
import { etcdOptionsOf } from './client/url.ts'
import { EtcdStore } from './store.ts'

export interface EtcdOptions {
  /** `host:port` of some or all members of the cluster. */
  endpoints: readonly string[]
  /** The certificates for TLS; without it the connection is in clear text. */
  tls?: TlsOptions
  user?: string
  password?: string
  runtime?: Runtime
}

const OPTIONS: NamesOf<EtcdOptions> = {
  endpoints: true,
  tls: true,
  user: true,
  password: true,
  runtime: true,
}
const ENDPOINT = /^(?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})$/i
const LARGEST_PORT = 65_535

export function createStore(options: EtcdOptions): EtcdStore {
  const { endpoints, tls, user, password, runtime } = checkOptions('options', options, OPTIONS)
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw new InvalidArgumentError('endpoints', 'must be a list of at least one host:port')
  for (const endpoint of endpoints) {
    const port = typeof endpoint === 'string' ? Number(ENDPOINT.exec(endpoint)?.[1] ?? 0) : 0
    if (port < 1 || port > LARGEST_PORT)
      throw new InvalidArgumentError('endpoints', `must be like host:2379, not ${JSON.stringify(endpoint)}`)
  }
  if (tls !== undefined) checkTls(tls)
  if (user !== undefined) checkText('user', user)
  if (password !== undefined) checkText('password', password)
  const given = { endpoints, tls: tls ?? null, user: user ?? null, password: password ?? null }
  return new EtcdStore(given, checkRuntime(runtime))
}

interface SharedStore {
  readonly store: EtcdStore
  /** Resolves when the cluster has answered. */
  readonly probed: Promise<void>
  users: number
}

/** The stores opened by URL: all users of a URL in this process share a connection, leases and watches. */
const opened = new Map<string, SharedStore>()

/** A store over a cluster that answers: `etcd://one:2379,two:2379,three:2379`, or `etcds://` for TLS. */
export async function openEtcd(url: string, callTimeoutMs: number): Promise<Store> {
  const options = etcdOptionsOf(url)
  const shared = opened.get(url) ?? openShared(options)
  opened.set(url, shared)
  shared.users++
  try {
    await answeredWithin(shared.probed, callTimeoutMs, nodeRuntime)
  } catch (error) {
    // Other users may have longer timeouts; the next user opens a new store.
    if (opened.get(url) === shared) opened.delete(url)
    await leave(url, shared)
    throw unreachable(`etcd at ${options.endpoints.join(', ')}`, error)
  }
  return sharedView(shared.store, () => leave(url, shared))
}

function openShared(options: EtcdOptions): SharedStore {
  const store = createStore({ ...options, runtime: nodeRuntime })
  return { store, probed: store.probe(), users: 0 }
}

async function leave(url: string, shared: SharedStore): Promise<void> {
  if (--shared.users > 0) return
  if (opened.get(url) === shared) opened.delete(url)
  await shared.store.close()
}

/** One user's view of a shared store: `close` removes its listeners, and the last `close` closes the store. */
function sharedView(store: EtcdStore, leave: () => Promise<void>): Store {
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

import { checkOptions, checkRuntime, checkText, type NamesOf } from '../../core/check.ts'
import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { checkTls, type TlsOptions } from '../../core/tls.ts'
import { InvalidArgumentError, LockError, unreachable } from '../../errors.ts'
import type { Credentials } from './client/login.ts'
import { type EnsembleOptions, SessionPools } from './client/sessions.ts'
import { checkScheme, type ZooKeeperAddress, zooKeeperAddressOf } from './client/url.ts'
import { ZooKeeperStore } from './store.ts'

export interface ZooKeeperOptions {
  /** The certificates for TLS; they override those of the URL. */
  tls?: TlsOptions
  /** Instead of credentials in the URL. */
  user?: string
  password?: string
  /** The login: by ZooKeeper's own `digest` scheme (the default), or by SASL with DIGEST-MD5. */
  auth?: 'digest' | 'sasl'
  runtime?: Runtime
}

const OPTIONS: NamesOf<ZooKeeperOptions> = {
  tls: true,
  user: true,
  password: true,
  auth: true,
  runtime: true,
}

export function createStore(url: string, options: ZooKeeperOptions): ZooKeeperStore {
  const { tls, runtime } = checkOptions('options', options, OPTIONS)
  const address = zooKeeperAddressOf(checkText('url', url))
  const files = tls === undefined ? address.tls : { ...address.tls, ...tls }
  if (files !== null) checkTls(files)
  const auth = credentialsOf(address, options)
  const ensemble = { servers: address.servers, auth, tls: files, runtime: checkRuntime(runtime) }
  return new ZooKeeperStore(sessionsOf(ensemble, address.chroot))
}

/** The sessions of this process, by runtime and by the options that stores must have in common to share them. */
const SHARED = new WeakMap<Runtime, Map<string, SessionPools>>()

/** A server limits the connections per address, so stores of the same ensemble share sessions. */
function sessionsOf(ensemble: EnsembleOptions, chroot: string): SessionPools {
  const { runtime, ...rest } = ensemble
  const name = JSON.stringify([rest, chroot])
  let shared = SHARED.get(runtime)
  if (shared === undefined) {
    shared = new Map()
    SHARED.set(runtime, shared)
  }
  for (const [other, sessions] of shared) if (sessions.isOver) shared.delete(other)
  let sessions = shared.get(name)
  if (sessions === undefined) {
    sessions = new SessionPools(ensemble, chroot)
    shared.set(name, sessions)
  }
  return sessions
}

function credentialsOf(address: ZooKeeperAddress, options: ZooKeeperOptions): Credentials | null {
  const { user, password } = options
  const scheme = options.auth === undefined ? address.auth : checkScheme(options.auth)
  if (user === undefined && password === undefined) {
    if (address.user !== null) return { scheme: scheme ?? 'digest', ...address.user }
    if (scheme !== null) throw new InvalidArgumentError('auth', 'needs a user and a password')
    return null
  }
  if (address.user !== null) throw new InvalidArgumentError('user', 'must be left out: the URL names one')
  if (user === undefined || checkText('user', user) === '')
    throw new InvalidArgumentError('user', 'must not be empty')
  if (password === undefined) throw new InvalidArgumentError('password', 'must be given with a user')
  return { scheme: scheme ?? 'digest', user, password: checkText('password', password) }
}

/** Opens a connected store; throws if the ensemble cannot be reached. */
export async function openZooKeeper(url: string): Promise<Store> {
  const store = createStore(url, { runtime: nodeRuntime })
  try {
    await store.open()
  } catch (error) {
    await store.close()
    if (error instanceof LockError) throw error
    const hosts = zooKeeperAddressOf(url).servers.map(({ host, port }) => `${host}:${port}`)
    throw unreachable(`ZooKeeper at ${hosts.join(', ')}`, error)
  }
  return store
}

import { checkOptions, checkRuntime, checkText, type NamesOf } from '../../core/check.ts'
import type { Runtime } from '../../core/runtime.ts'
import { checkTls, type TlsOptions } from '../../core/tls.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { type EnsembleOptions, Sessions } from './sessions.ts'
import { ZooKeeperStore } from './store.ts'
import { addressOf, checkScheme, type ZooKeeperAddress } from './url.ts'
import type { Credentials } from './wire/login.ts'

export interface ZooKeeperOptions {
  /** With which certificates the servers are reached over TLS; they go before those that the URL names. */
  tls?: TlsOptions
  /** Instead of a user and a password in the URL. */
  user?: string
  password?: string
  /** How the user logs in: by ZooKeeper's own `digest` scheme (the default), or by SASL with DIGEST-MD5. */
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

export function storeOf(url: string, options: ZooKeeperOptions): ZooKeeperStore {
  const { tls, runtime } = checkOptions('options', options, OPTIONS)
  const address = addressOf(checkText('url', url))
  const files = tls === undefined ? address.tls : { ...address.tls, ...tls }
  if (files !== null) checkTls(files)
  const auth = credentialsOf(address, options)
  const ensemble = { servers: address.servers, auth, tls: files, runtime: checkRuntime(runtime) }
  return new ZooKeeperStore(sessionsOf(ensemble, address.chroot))
}

/** The sessions that stores of this process use, by runtime, and by what is the same for all who share them. */
const SHARED = new WeakMap<Runtime, Map<string, Sessions>>()

/** A server takes few connections from one address, so that stores of the same ensemble share them. */
function sessionsOf(ensemble: EnsembleOptions, chroot: string): Sessions {
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
    sessions = new Sessions(ensemble, chroot)
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

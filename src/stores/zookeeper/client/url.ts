import { parametersOf } from '../../../core/parameters.ts'
import { TLS_PARAMETERS, type TlsOptions, tlsOf } from '../../../core/tls.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import type { Server } from './connection.ts'
import type { Credentials } from './login.ts'

export interface ZooKeeperAddress {
  readonly servers: readonly Server[]
  /** Empty, or a path that begins with a slash and does not end with one. */
  readonly chroot: string
  readonly user: Pick<Credentials, 'user' | 'password'> | null
  /** Null when the URL names no login scheme. */
  readonly auth: Credentials['scheme'] | null
  /** Null for connections in clear text. */
  readonly tls: TlsOptions | null
}

const DEFAULT_PORT = 2181
const LARGEST_PORT = 65_535
const PARAMETERS = { ...TLS_PARAMETERS, auth: true } as const
const FORM = 'must be like zookeeper://user:password@host1:2181,host2:2181/path'

/** `zookeeper[+tls]://[user:password@]host[:port],…[/path][?auth=…&ca=…&cert=…&key=…]`. No error repeats the URL, because it may contain a password. */
export function zooKeeperAddressOf(url: string): ZooKeeperAddress {
  const parts = /^zookeeper(\+tls)?:\/\/(?:([^/@]*)@)?([^/@?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(url)
  if (parts === null) throw new InvalidArgumentError('url', FORM)
  const [, tls, credentials, hosts = '', path = '', query = ''] = parts
  const { auth, ...files } = parametersOf(query, PARAMETERS)
  return {
    servers: hosts.split(',').map(serverOf),
    chroot: chrootOf(decoded(path)),
    user: credentials === undefined ? null : userOf(credentials),
    auth: auth === undefined ? null : checkScheme(auth),
    tls: tlsOf(files, 'zookeeper+tls://', tls !== undefined),
  }
}

function serverOf(text: string): Server {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d+))?$/.exec(text)
  const port = parts?.[2] === undefined ? DEFAULT_PORT : Number(parts[2])
  if (parts === null || port < 1 || port > LARGEST_PORT) throw new InvalidArgumentError('url', FORM)
  return { host: (parts[1] as string).replace(/^\[|\]$/g, ''), port }
}

/** Checks the path by ZooKeeper's own rules, for a clear error. */
export function chrootOf(path: string): string {
  const chroot = path.replace(/\/+$/, '')
  if (chroot === '') return ''
  const elements = chroot.split('/').slice(1)
  const unfit = elements.some((element) => element === '' || element === '.' || element === '..')
  if (
    !chroot.startsWith('/') ||
    unfit ||
    /\p{Cc}/u.test(chroot) ||
    /[\ud800-\uf8ff\ufff0-\uffff]/.test(chroot)
  ) {
    throw new InvalidArgumentError('chroot', 'must be a path of ZooKeeper, such as /services/locks')
  }
  if (elements[0] === 'zookeeper') {
    throw new InvalidArgumentError(
      'chroot',
      'must not be below /zookeeper, which belongs to ZooKeeper itself',
    )
  }
  return chroot
}

export function checkScheme(auth: string): Credentials['scheme'] {
  if (auth === 'digest' || auth === 'sasl') return auth
  throw new InvalidArgumentError('auth', 'must be digest or sasl')
}

function userOf(credentials: string): ZooKeeperAddress['user'] {
  const colon = credentials.indexOf(':')
  if (colon < 1) throw new InvalidArgumentError('url', FORM)
  return {
    user: decoded(credentials.slice(0, colon)),
    password: decoded(credentials.slice(colon + 1)),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new InvalidArgumentError('url', FORM)
  }
}

import { InvalidArgumentError } from '../../errors.ts'
import type { Server } from './wire/connection.ts'

export interface ZooKeeperAddress {
  readonly servers: readonly Server[]
  /** Empty, or a path that begins with a slash and does not end with one. */
  readonly chroot: string
  readonly auth: { readonly user: string; readonly password: string } | null
}

const DEFAULT_PORT = 2181
const LARGEST_PORT = 65_535
const FORM = 'must be like zookeeper://user:password@host1:2181,host2:2181/path'

/** `zookeeper://[user:password@]host[:port],…[/path]`. The URL may hold a password, so errors do not repeat it. */
export function addressOf(url: string): ZooKeeperAddress {
  const parts = /^zookeeper:\/\/(?:([^/@]*)@)?([^/@?#]+)(\/[^?#]*)?$/i.exec(url)
  if (parts === null) throw new InvalidArgumentError('url', FORM)
  const [, credentials, hosts = '', path = ''] = parts
  return {
    servers: hosts.split(',').map(serverOf),
    chroot: chrootOf(decoded(path)),
    auth: credentials === undefined ? null : authOf(credentials),
  }
}

function serverOf(text: string): Server {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d+))?$/.exec(text)
  const port = parts?.[2] === undefined ? DEFAULT_PORT : Number(parts[2])
  if (parts === null || port < 1 || port > LARGEST_PORT) throw new InvalidArgumentError('url', FORM)
  return { host: (parts[1] as string).replace(/^\[|\]$/g, ''), port }
}

/** What ZooKeeper takes for a path of its own, checked here so that the mistake is named where it was made. */
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

function authOf(credentials: string): ZooKeeperAddress['auth'] {
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

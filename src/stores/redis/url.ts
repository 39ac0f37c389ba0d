import { InvalidArgumentError } from '../../errors.ts'
import type { Address } from './cluster/node.ts'

/** The URL of several servers, parsed. */
interface Servers {
  readonly addresses: readonly Address[]
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
}

export interface SentinelUrl extends Servers {
  readonly service: string
  readonly database: number
}

const SHAPE = /^(rediss?)\+(?:sentinel|cluster):\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?$/i
const HOST = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i
const SENTINEL_PORT = 26_379
const CLUSTER_PORT = 6379

/** `redis+sentinel://user:password@h1:26379,h2:26379/service/0`, or `rediss+sentinel:` for TLS. */
export function sentinelUrl(url: string): SentinelUrl {
  const example = 'must be like redis+sentinel://user:password@h1:26379,h2:26379/service/0'
  const { servers, path } = partsOf(url, SENTINEL_PORT, example)
  const [service = '', database = '0', ...rest] = path.split('/')
  if (service === '' || rest.length > 0 || !/^\d*$/.test(database)) throw bad(example)
  return { ...servers, service: decoded(service), database: Number(database) }
}

/** `redis+cluster://user:password@h1:6379,h2:6379,h3:6379`, or `rediss+cluster:` for TLS. */
export function clusterUrl(url: string): Servers {
  const example = 'must be like redis+cluster://user:password@h1:6379,h2:6379,h3:6379'
  const { servers, path } = partsOf(url, CLUSTER_PORT, example)
  // A cluster has one database.
  if (!/^0?$/.test(path)) throw bad(example)
  return servers
}

/** The hosts of the servers, without credentials. */
export function hostsOf({ addresses }: Servers): string {
  return addresses.map(({ host, port }) => `${host}:${port}`).join(', ')
}

/** The credentials of the servers; an absent one must not become an option of a client. */
export function credentialsOf({ username, password }: Partial<Servers>) {
  return { ...(username && { username }), ...(password && { password }) }
}

function partsOf(url: string, port: number, example: string) {
  const parts = SHAPE.exec(url)
  if (parts === null) throw bad(example)
  const [, scheme = '', credentials, hosts = '', path = ''] = parts
  const at = credentials?.indexOf(':') ?? -1
  const [username, password] =
    at < 0 ? [credentials] : [credentials?.slice(0, at), credentials?.slice(at + 1)]
  const servers: Servers = {
    addresses: hosts.split(',').map((host) => addressOf(host, port)),
    tls: scheme.toLowerCase() === 'rediss',
    username: username ? decoded(username) : undefined,
    password: password ? decoded(password) : undefined,
  }
  return { servers, path: path.replace(/\/$/, '') }
}

function addressOf(text: string, defaultPort: number): Address {
  const [, bracketed, plain, port] = HOST.exec(text) ?? []
  const host = bracketed ?? plain
  const number = port === undefined ? defaultPort : Number(port)
  if (host === undefined || number < 1 || number > 65_535)
    throw bad('must name hosts, each with a port if it is not the usual one, with commas between them')
  return { host, port: number }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw bad('has a user, password or service that is not written as URLs are: use encodeURIComponent')
  }
}

function bad(problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', problem)
}

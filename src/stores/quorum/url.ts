import { parametersOf } from '../../core/parameters.ts'
import { InvalidArgumentError } from '../../errors.ts'

/** One of the servers: its URL for a client library, and its name for messages. */
export interface NodeAddress {
  readonly url: string
  readonly name: string
}

const SHAPE = /^redlock:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/(\d*))?(?:\?([^#]*))?$/i

/**
 * The servers of `redlock://user:password@h1:6379,h2:6379,h3:6379/0?tls=true`. The credentials are for all of them.
 */
export function addressesOf(url: string): NodeAddress[] {
  const parts = SHAPE.exec(url)
  if (parts === null) throw bad('must be like redlock://user:password@h1:6379,h2:6379,h3:6379/0')
  const [, credentials, hosts = '', database = '', query = ''] = parts
  const scheme = schemeOf(query)
  const addresses = hosts.split(',').map((host): NodeAddress => {
    const before = credentials === undefined ? '' : `${credentials}@`
    const text = `${scheme}//${before}${host}${database === '' ? '' : `/${database}`}`
    return { url: text, name: nameOf(text) }
  })
  const names = addresses.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw bad(`must name independent servers, and names ${twice} twice`)
  return addresses
}

function schemeOf(query: string): string {
  const { tls = 'false' } = parametersOf(query, { tls: true })
  if (tls !== 'true' && tls !== 'false')
    throw bad('must give as tls true or false: it may end with ?tls=true')
  return tls === 'true' ? 'rediss:' : 'redis:'
}

function nameOf(text: string): string {
  let parts: URL
  try {
    parts = new URL(text)
  } catch {
    throw bad('must name hosts, each with a port if it is not 6379, with commas between them')
  }
  if (parts.hostname === '') throw bad('names no host')
  return `${parts.hostname}:${parts.port === '' ? '6379' : parts.port}`
}

function bad(problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', problem)
}

import { parametersOf } from '../../../core/parameters.ts'
import { TLS_PARAMETERS, tlsOf } from '../../../core/tls.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import type { EtcdOptions } from '../create.ts'

const SHAPE = /^etcd(?<tls>s?):\/\/(?<authority>[^/?#]*)\/?(?:\?(?<query>[^#]*))?$/i
const DEFAULT_PORT = 2379

/**
 * The options that a URL stands for: `etcd://user:password@one:2379,two:2379`. TLS comes with `etcds://` or `?tls=1`;
 * `ca`, `cert` and `key` name files in PEM. The URL may hold a password, so that it is in no error.
 */
export function etcdOptionsOf(url: string): EtcdOptions {
  const parts = SHAPE.exec(url)?.groups
  if (parts === undefined) throw refused('must be like etcd://user:password@one:2379,two:2379')
  const authority = parts.authority ?? ''
  const at = authority.lastIndexOf('@')
  const endpoints = authority
    .slice(at + 1)
    .split(',')
    .map((host) => (/:\d+$/.test(host) ? host : `${host}:${DEFAULT_PORT}`))
  const tls = tlsOf(parametersOf(parts.query ?? '', TLS_PARAMETERS), 'etcds://', parts.tls !== '')
  return { endpoints, ...(at > 0 && userIn(authority.slice(0, at))), ...(tls !== null && { tls }) }
}

function userIn(text: string): Pick<EtcdOptions, 'user' | 'password'> {
  const colon = text.indexOf(':')
  const user = decoded(colon < 0 ? text : text.slice(0, colon))
  return colon < 0 ? { user } : { user, password: decoded(text.slice(colon + 1)) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('has a user or password that is not well percent-encoded: write % as %25')
  }
}

function refused(problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', problem)
}

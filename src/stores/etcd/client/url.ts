import { parametersOf } from '../../../core/parameters.ts'
import { TLS_PARAMETERS, tlsOf } from '../../../core/tls.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import type { EtcdOptions } from '../open.ts'

const SHAPE = /^etcd(?<tls>s?):\/\/(?<authority>[^/?#]*)\/?(?:\?(?<query>[^#]*))?$/i
const DEFAULT_PORT = 2379

/**
 * Parses `etcd://user:password@one:2379,two:2379`. `etcds://` or `?tls=1` selects TLS; `ca`, `cert` and `key` name PEM
 * files. No error repeats the URL, because it may contain a password.
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

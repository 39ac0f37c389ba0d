import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from '../../errors.ts'
import type { EtcdOptions } from './create.ts'
import type { TlsOptions } from './wire/channel.ts'

const SHAPE = /^etcd(?<tls>s?):\/\/(?<authority>[^/?#]*)\/?(?:\?(?<query>[^#]*))?$/i
const FILES = ['ca', 'cert', 'key'] as const
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
  const tls = tlsIn(parts.query ?? '', parts.tls !== '')
  return { endpoints, ...(at > 0 && userIn(authority.slice(0, at))), ...(tls !== null && { tls }) }
}

function userIn(text: string): Pick<EtcdOptions, 'user' | 'password'> {
  const colon = text.indexOf(':')
  const user = decoded(colon < 0 ? text : text.slice(0, colon))
  return colon < 0 ? { user } : { user, password: decoded(text.slice(colon + 1)) }
}

function tlsIn(query: string, scheme: boolean): TlsOptions | null {
  const files: { -readonly [name in keyof TlsOptions]: Buffer } = {}
  let wanted = scheme
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'tls') {
      if (!/^(?:0|1|true|false)$/.test(value)) throw refused('tls must be 1, 0, true or false')
      wanted = value === '1' || value === 'true'
    } else if (FILES.includes(name as (typeof FILES)[number])) {
      files[name as (typeof FILES)[number]] = contentOf(name, value)
    } else {
      throw refused(
        `has an unknown option, ${JSON.stringify(name)}: it may be one of tls, ${FILES.join(', ')}`,
      )
    }
  }
  if (!wanted && Object.keys(files).length > 0)
    throw refused('names certificates, but not TLS: begin it with etcds://')
  return wanted ? files : null
}

function contentOf(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw refused(`names a file for ${name} that cannot be read: ${(error as Error).message}`)
  }
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

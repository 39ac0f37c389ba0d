import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { InvalidArgumentError, whyOf } from '../errors.ts'
import { checkOptions, type NamesOf } from './check.ts'

/** The certificates for TLS connections. */
export interface TlsOptions {
  /** Trusted certificates, in PEM; the system's by default. */
  readonly ca?: string | Uint8Array
  /** The client's own certificate and key, in PEM. */
  readonly cert?: string | Uint8Array
  readonly key?: string | Uint8Array
}

const TLS: NamesOf<TlsOptions> = { ca: true, cert: true, key: true }
const FILES = ['ca', 'cert', 'key'] as const

/** The parameters of a URL that are about TLS; each of the files is in PEM. */
export const TLS_PARAMETERS = { tls: true, ca: true, cert: true, key: true } as const

/** Refuses an unusable certificate here, and not at the first connection. */
export function checkTls(tls: TlsOptions): TlsOptions {
  checkOptions('tls', tls, TLS)
  const { ca, cert, key } = tls as { [name in keyof TlsOptions]: Buffer }
  try {
    createSecureContext({ ca, cert, key })
  } catch (error) {
    throw new InvalidArgumentError('tls', `has a certificate or key that cannot be used: ${whyOf(error)}`)
  }
  return tls
}

/** Null for a connection in clear text. `scheme` is the scheme with TLS; `isGiven`: the URL has it. */
export function tlsOf(
  parameters: Partial<Record<keyof typeof TLS_PARAMETERS, string>>,
  scheme: string,
  isGiven: boolean,
): TlsOptions | null {
  const { tls = isGiven ? '1' : '0' } = parameters
  if (!/^(?:0|1|true|false)$/.test(tls)) throw refused('tls must be 1, 0, true or false')
  const wanted = tls === '1' || tls === 'true'
  const files: { -readonly [name in keyof TlsOptions]: Buffer } = {}
  for (const name of FILES) {
    const path = parameters[name]
    if (path !== undefined) files[name] = contentOf(name, path)
  }
  if (!wanted && Object.keys(files).length > 0)
    throw refused(`names certificates, but not TLS: begin it with ${scheme}`)
  return wanted ? files : null
}

function contentOf(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw refused(`names a file for ${name} that cannot be read: ${whyOf(error)}`)
  }
}

function refused(problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', problem)
}

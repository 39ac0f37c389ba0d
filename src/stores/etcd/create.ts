import { checkOptions, checkRuntime, checkText, type NamesOf } from '../../core/check.ts'
import type { Runtime } from '../../core/runtime.ts'
import { checkTls, type TlsOptions } from '../../core/tls.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { EtcdStore } from './store.ts'

export interface EtcdOptions {
  /** `host:port` of some or all members of the cluster. */
  endpoints: readonly string[]
  /** With which certificates the members are reached over TLS; without it the connection is in clear text. */
  tls?: TlsOptions
  user?: string
  password?: string
  runtime?: Runtime
}

const OPTIONS: NamesOf<EtcdOptions> = {
  endpoints: true,
  tls: true,
  user: true,
  password: true,
  runtime: true,
}
const ENDPOINT = /^(?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})$/i
const LARGEST_PORT = 65_535

export function createStore(options: EtcdOptions): EtcdStore {
  const { endpoints, tls, user, password, runtime } = checkOptions('options', options, OPTIONS)
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw new InvalidArgumentError('endpoints', 'must be a list of at least one host:port')
  for (const endpoint of endpoints) {
    const port = typeof endpoint === 'string' ? Number(ENDPOINT.exec(endpoint)?.[1] ?? 0) : 0
    if (port < 1 || port > LARGEST_PORT)
      throw new InvalidArgumentError('endpoints', `must be like host:2379, not ${JSON.stringify(endpoint)}`)
  }
  if (tls !== undefined) checkTls(tls)
  if (user !== undefined) checkText('user', user)
  if (password !== undefined) checkText('password', password)
  const given = { endpoints, tls: tls ?? null, user: user ?? null, password: password ?? null }
  return new EtcdStore(given, checkRuntime(runtime))
}

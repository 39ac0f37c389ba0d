import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { EtcdStore } from './store.ts'
import type { TlsOptions } from './wire/channel.ts'

export interface EtcdOptions {
  /** `host:port` of some or all members of the cluster. */
  endpoints: readonly string[]
  /** With which certificates the members are reached over TLS; without it the connection is in clear text. */
  tls?: TlsOptions
  user?: string
  password?: string
  runtime?: Runtime
}

const ENDPOINT = /^(?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})$/i
const LARGEST_PORT = 65_535

export function createStore(options: EtcdOptions): EtcdStore {
  const { endpoints, tls = null, user = null, password = null, runtime = nodeRuntime } = options
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw new InvalidArgumentError('endpoints', 'must be a list of at least one host:port')
  for (const endpoint of endpoints) {
    const port = typeof endpoint === 'string' ? Number(ENDPOINT.exec(endpoint)?.[1] ?? 0) : 0
    if (port < 1 || port > LARGEST_PORT)
      throw new InvalidArgumentError('endpoints', `must be like host:2379, not ${JSON.stringify(endpoint)}`)
  }
  return new EtcdStore({ endpoints, tls, user, password }, runtime)
}

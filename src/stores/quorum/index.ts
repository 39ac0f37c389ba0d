import type { Store } from '../../core/store.ts'
import { InvalidArgumentError, UnsupportedError } from '../../errors.ts'
import { type AnyRedisClient, redisAdapterOf } from '../redis/clients/detect.ts'
import { assemble, type QuorumOptions, quorumSettingsOf } from './options.ts'
import { RedisNode } from './redis/node.ts'

export type { AnyRedisClient, QuorumOptions }

/**
 * A store over several independent Redis or Valkey servers, through clients that you already have: a majority of them
 * decides, a minority may fail. Three, five or seven servers are usual. The clients stay yours; the store opens one more
 * connection to each server.
 *
 * Throws an `InvalidArgumentError` for anything but clients of servers, and so do the first claims if two of the
 * clients turn out to be connected to the same server.
 */
export function quorum(clients: readonly AnyRedisClient[], options: QuorumOptions = {}): Store {
  if (!Array.isArray(clients) || clients.length === 0)
    throw new InvalidArgumentError('clients', 'must be a list of Redis clients, one for each server')
  if (new Set(clients).size < clients.length)
    throw new InvalidArgumentError('clients', 'must not name a client twice')
  const settings = quorumSettingsOf(options)
  const nodes = clients.map((client, index) => {
    const adapter = redisAdapterOf(client, { ...settings, replicas: null })
    // A failover loses votes that were given, so a node must not have one.
    if (adapter.topology !== 'single')
      throw new UnsupportedError(`a node of a quorum is one server, not a ${adapter.topology}`)
    return new RedisNode(clientAddress(client) ?? `node ${index + 1}`, adapter, settings)
  })
  return assemble(nodes, settings)
}

interface ClientShape {
  readonly options?: {
    readonly host?: unknown
    readonly port?: unknown
    readonly url?: unknown
    readonly socket?: { readonly host?: unknown; readonly port?: unknown }
  }
  readonly config?: { readonly addresses?: readonly { readonly host?: unknown; readonly port?: unknown }[] }
}

/** The server of a client of ioredis, node-redis or glide, for messages; null if the client does not tell. */
function clientAddress(client: unknown): string | null {
  const { options, config } = client as ClientShape
  const server = options?.socket ?? config?.addresses?.[0] ?? options
  if (typeof server?.host === 'string') return `${server.host}:${String(server.port ?? 6379)}`
  if (typeof options?.url !== 'string') return null
  try {
    return new URL(options.url).host
  } catch {
    return null
  }
}

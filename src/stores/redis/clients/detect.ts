import { show } from '../../../core/durations.ts'
import { InvalidArgumentError, UnsupportedError } from '../../../errors.ts'
import { ClusterClient } from '../cluster/client.ts'
import type { ConnectionSettings } from '../options.ts'
import type { RedisClient } from './client.ts'
import { type Glide, GlideClient } from './glide.ts'
import { type Ioredis, IoredisClient, sentinelClientOf } from './ioredis.ts'
import { type IoredisCluster, IoredisDialer } from './ioredis-cluster.ts'
import { type NodeRedis, NodeRedisClient } from './node-redis.ts'
import { type NodeRedisCluster, NodeRedisDialer } from './node-redis-cluster.ts'
import { type NodeRedisSentinel, NodeRedisSentinelClient } from './node-redis-sentinel.ts'

type Method = (...args: never[]) => unknown

/**
 * A client of ioredis 5 or 6, of node-redis 5 or 6, or of valkey-glide, known by its shape; also their cluster and
 * sentinel clients.
 */
export type AnyRedisClient =
  | { readonly isCluster: boolean; readonly status: string; readonly nodes: Method }
  | { readonly masters: readonly object[]; readonly isOpen: boolean; readonly nodeClient: Method }
  | { readonly status: string; readonly call: Method; readonly duplicate: Method }
  | { readonly isReady: boolean; readonly sendCommand: Method; readonly duplicate: Method }
  | { readonly isReady: boolean; readonly getMasterNode: Method; readonly getSentinelNode: Method }
  | { readonly customCommand: Method; readonly close: Method }

/** The adapter for a client, which stays the caller's. */
export function redisAdapterOf(client: AnyRedisClient, settings: ConnectionSettings): RedisClient {
  const shape = client as unknown as Shape | null
  if (typeof shape !== 'object' || shape === null) throw strange(client)
  if (shape.isCluster === true && has(shape, 'nodes', 'connect'))
    return new ClusterClient(new IoredisDialer(client as unknown as IoredisCluster), settings)
  if (has(shape, 'nodeClient'))
    return new ClusterClient(new NodeRedisDialer(client as unknown as NodeRedisCluster), settings)
  if (has(shape, 'getMasterNode'))
    return new NodeRedisSentinelClient(client as unknown as NodeRedisSentinel, false, settings)
  if (isGlide(shape)) {
    if (has(shape, 'fcallWithRoute'))
      throw new UnsupportedError(
        'the cluster client of glide is not supported: use that of ioredis or of redis',
      )
    return new GlideClient(client as unknown as Glide)
  }
  if (typeof shape.isReady === 'boolean' && has(shape, 'sendCommand', 'duplicate', 'destroy'))
    return new NodeRedisClient(client as unknown as NodeRedis, false)
  if (typeof shape.status === 'string' && has(shape, 'call', 'sendCommand', 'duplicate'))
    return ioredisClientOf(client as unknown as Ioredis)
  throw strange(client)
}

type Shape = Partial<Record<string, unknown>>

function has(shape: Shape, ...methods: readonly string[]): boolean {
  return methods.every((method) => typeof shape[method] === 'function')
}

/** The second connection needs the settings and the class of the first. */
function isGlide(shape: Shape): boolean {
  const { createClient } = (shape.constructor ?? {}) as { createClient?: unknown }
  return (
    has(shape, 'customCommand') &&
    typeof shape.config === 'object' &&
    shape.config !== null &&
    typeof createClient === 'function'
  )
}

function ioredisClientOf(client: Ioredis): RedisClient {
  return client.options.sentinels ? sentinelClientOf(client) : new IoredisClient(client, false)
}

/** Does not repeat a text: it may be a URL with a password. */
function strange(client: unknown): InvalidArgumentError {
  const given =
    typeof client === 'string'
      ? 'not a text (connect() takes a URL)'
      : `not ${client instanceof Object ? `an object of the class ${client.constructor.name}` : show(client)}`
  return new InvalidArgumentError(
    'client',
    `must be a client of ioredis 5 or 6, of redis (node-redis) 5 or 6, or of @valkey/valkey-glide 2, ${given}`,
  )
}

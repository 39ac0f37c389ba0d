import type { Runtime } from '../../../core/runtime.ts'
import { InvalidArgumentError, UnsupportedError } from '../../../errors.ts'
import { ClusterClient } from '../cluster/client.ts'
import type { ReplicaSettings } from '../options.ts'
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
export function adapterOf(
  client: AnyRedisClient,
  runtime: Runtime,
  replicas: ReplicaSettings | null = null,
): RedisClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape !== 'object' || shape === null) throw strange()
  if (shape.isCluster === true)
    return new ClusterClient(new IoredisDialer(client as unknown as IoredisCluster), runtime, replicas)
  if (typeof shape.nodeClient === 'function')
    return new ClusterClient(new NodeRedisDialer(client as unknown as NodeRedisCluster), runtime, replicas)
  if (typeof shape.getMasterNode === 'function')
    return new NodeRedisSentinelClient(client as unknown as NodeRedisSentinel, false)
  if (shape.constructor?.name === 'GlideClusterClient')
    throw new UnsupportedError(
      'the cluster client of glide is not supported: use that of ioredis or of redis',
    )
  if (typeof shape.customCommand === 'function') return new GlideClient(client as unknown as Glide)
  if (typeof shape.isReady === 'boolean' && typeof shape.sendCommand === 'function')
    return new NodeRedisClient(client as unknown as NodeRedis, false)
  if (typeof shape.status === 'string' && typeof shape.call === 'function')
    return ioredisClientOf(client as unknown as Ioredis)
  throw strange()
}

function ioredisClientOf(client: Ioredis): RedisClient {
  return client.options.sentinels ? sentinelClientOf(client) : new IoredisClient(client, false)
}

function strange(): InvalidArgumentError {
  return new InvalidArgumentError(
    'client',
    'must be a client of ioredis, of redis (node-redis) or of @valkey/valkey-glide',
  )
}

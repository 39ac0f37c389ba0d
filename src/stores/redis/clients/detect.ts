import { InvalidArgumentError, UnsupportedError } from '../../../errors.ts'
import type { RedisClient } from './client.ts'
import { type Glide, GlideClient } from './glide.ts'
import { type Ioredis, IoredisClient } from './ioredis.ts'
import { type NodeRedis, NodeRedisClient } from './node-redis.ts'

type Method = (...args: never[]) => unknown

/** A client of ioredis 5 or 6, of node-redis 5 or 6, or of valkey-glide, known by its shape. */
export type AnyRedisClient =
  | { readonly status: string; readonly call: Method; readonly duplicate: Method }
  | { readonly isReady: boolean; readonly sendCommand: Method; readonly duplicate: Method }
  | { readonly customCommand: Method; readonly close: Method }

/** The adapter for a client, which stays the caller's unless it is `owned`. */
export function adapterOf(client: AnyRedisClient, owned: boolean): RedisClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape !== 'object' || shape === null) throw strange()
  if (isClusterClient(shape)) throw new UnsupportedError('Redis Cluster is not supported yet: use one server')
  if (typeof shape.customCommand === 'function') return new GlideClient(client as unknown as Glide)
  if (typeof shape.isReady === 'boolean' && typeof shape.sendCommand === 'function')
    return new NodeRedisClient(client as unknown as NodeRedis, owned)
  if (typeof shape.status === 'string' && typeof shape.call === 'function')
    return new IoredisClient(client as unknown as Ioredis, owned)
  throw strange()
}

function isClusterClient(shape: Partial<Record<string, unknown>>): boolean {
  return shape.isCluster === true || 'slots' in shape || shape.constructor?.name === 'GlideClusterClient'
}

function strange(): InvalidArgumentError {
  return new InvalidArgumentError(
    'client',
    'must be a client of ioredis, of redis (node-redis) or of @valkey/valkey-glide',
  )
}

import type { Store } from '../../core/store.ts'
import { type AnyRedisClient, redisAdapterOf } from './clients/detect.ts'
import { createRedisStore } from './create.ts'
import { type RedisOptions, redisSettingsOf } from './options.ts'

export {
  type Argument,
  type Transaction,
  type TransactionClient,
  type TransactionOptions,
  type TransactionResult,
  transaction,
} from '../../recipes/transaction/index.ts'
export type { AnyRedisClient, RedisOptions }

/**
 * A store in a Redis or Valkey server, through the client you already have: ioredis 5 or 6, redis (node-redis) 5 or 6,
 * or @valkey/valkey-glide 2. The client stays yours; the store opens one more connection like it, for notifications, and closes
 * that one.
 *
 * Of a cluster or sentinel client it takes the addresses, the credentials and the TLS settings, and opens its own
 * connections: one to each master and one more.
 *
 * Throws an `InvalidArgumentError` for anything else, and an `UnsupportedError` for plain locks on a cluster.
 */
export function redis(client: AnyRedisClient, options: RedisOptions = {}): Store {
  const settings = redisSettingsOf(options)
  return createRedisStore(redisAdapterOf(client, settings), settings)
}

import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { type AnyRedisClient, adapterOf } from './clients/detect.ts'
import { RedisStore } from './store.ts'

export {
  type Argument,
  type Transaction,
  type TransactionClient,
  type TransactionOptions,
  type TransactionResult,
  transaction,
} from './transaction/index.ts'
export type { AnyRedisClient }

export interface RedisOptions {
  runtime?: Runtime
}

/**
 * A store in a Redis or Valkey server, through the client you already have: ioredis 5 or 6, redis (node-redis) 5 or 6,
 * or @valkey/valkey-glide 2. The client stays yours; the store opens one more connection like it, for what the server
 * tells by itself, and closes that one.
 *
 * Throws an `InvalidArgumentError` for anything else, and an `UnsupportedError` for a cluster client.
 */
export function redis(client: AnyRedisClient, options: RedisOptions = {}): Store {
  return new RedisStore(adapterOf(client, false), options.runtime ?? nodeRuntime)
}

import { show } from '../../core/durations.ts'
import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { InvalidArgumentError, UnsupportedError } from '../../errors.ts'
import { type AnyRedisClient, adapterOf } from './clients/detect.ts'
import { PlainStore } from './plain/store.ts'
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
  /**
   * How locks are written. `'plain'` is `SET key id NX PX` on the key itself, as other libraries and scripts do it, so that
   * both exclude each other: exclusive locks only, without a line. By default `'holdfast'`.
   */
  format?: 'holdfast' | 'plain'
  runtime?: Runtime
}

/**
 * A store in a Redis or Valkey server, through the client you already have: ioredis 5 or 6, redis (node-redis) 5 or 6,
 * or @valkey/valkey-glide 2. The client stays yours; the store opens one more connection like it, for what the server
 * tells by itself, and closes that one.
 *
 * Of a cluster client it takes the addresses, the credentials and the TLS settings, and opens its own connections: one to
 * each master and one more.
 *
 * Throws an `InvalidArgumentError` for anything else, and an `UnsupportedError` for plain locks on a cluster.
 */
export function redis(client: AnyRedisClient, options: RedisOptions = {}): Store {
  const { format = 'holdfast', runtime = nodeRuntime } = options
  if (format !== 'holdfast' && format !== 'plain')
    throw new InvalidArgumentError('format', `must be 'holdfast' or 'plain', not ${show(format)}`)
  const adapter = adapterOf(client, runtime)
  if (format === 'plain' && adapter.cluster !== null)
    throw new UnsupportedError("format 'plain' is not supported on a cluster")
  return format === 'plain' ? new PlainStore(adapter, runtime) : new RedisStore(adapter, runtime)
}

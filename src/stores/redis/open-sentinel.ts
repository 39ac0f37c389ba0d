import type { Store } from '../../core/store.ts'
import { StoreError, UnsupportedError } from '../../errors.ts'
import { ignore, type RedisClient } from './clients/client.ts'
import {
  IOREDIS_OPTIONS,
  type Ioredis,
  IoredisClient,
  reconnectAfterMs,
  SENTINEL_OPTIONS,
  silence,
} from './clients/ioredis.ts'
import { type NodeRedisSentinel, NodeRedisSentinelClient } from './clients/node-redis-sentinel.ts'
import { storeOf } from './make.ts'
import { optional } from './open.ts'
import { settingsOf } from './options.ts'
import { parametersOf } from './parameters.ts'
import { hostsOf, type SentinelUrl, sentinelUrl } from './url.ts'

/** A store at the master that sentinels name: `redis+sentinel://user:password@h1:26379,h2:26379/service/0`. */
export async function openSentinel(given: string): Promise<Store> {
  const { url, options } = parametersOf(given)
  const parts = sentinelUrl(url)
  const settings = settingsOf(options)
  const client = (await openIoredis(parts)) ?? (await openNodeRedis(parts))
  if (client === null)
    throw new UnsupportedError(
      'redis+sentinel:// needs a client library: npm install ioredis, or npm install redis',
    )
  return storeOf(client, settings)
}

async function openIoredis(parts: SentinelUrl): Promise<RedisClient | null> {
  const library = await optional(() => import('ioredis'))
  if (library === null) return null
  let connected = false
  const { addresses, service, database, username, password, sentinelUsername, sentinelPassword, tls } = parts
  const client = new library.Redis({
    ...IOREDIS_OPTIONS,
    sentinels: addresses.map((address) => ({ ...address })),
    name: service,
    db: database,
    ...SENTINEL_OPTIONS,
    sentinelRetryStrategy: (attempts) => (connected ? reconnectAfterMs(attempts) : null),
    retryStrategy: (attempts) => (connected ? reconnectAfterMs(attempts) : null),
    ...(username && { username }),
    ...(password && { password }),
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }) as unknown as Ioredis
  silence(client)
  try {
    await client.connect()
  } catch (error) {
    client.disconnect()
    throw unreachable(parts, error)
  }
  connected = true
  return new IoredisClient(client, true)
}

async function openNodeRedis(parts: SentinelUrl): Promise<RedisClient | null> {
  const library = await optional(() => import('redis'))
  if (library === null) return null
  const { addresses, service, database, username, password, sentinelUsername, sentinelPassword, tls } = parts
  const socket = tls ? { socket: { tls: true as const } } : {}
  const sentinel = library.createSentinel({
    name: service,
    sentinelRootNodes: addresses.map((address) => ({ ...address })),
    maxCommandRediscovers: 1,
    nodeClientOptions: { database, ...socket, ...(username && { username }), ...(password && { password }) },
    sentinelClientOptions: {
      ...socket,
      ...(sentinelUsername && { username: sentinelUsername }),
      ...(sentinelPassword && { password: sentinelPassword }),
    },
  }) as unknown as NodeRedisSentinel & { connect(): Promise<unknown> }
  sentinel.on('error', ignore)
  sentinel.on('client-error', ignore)
  try {
    await sentinel.connect()
  } catch (error) {
    throw unreachable(parts, error)
  }
  return new NodeRedisSentinelClient(sentinel, true)
}

/** Only the hosts are named: the URL may hold passwords. */
function unreachable(parts: SentinelUrl, cause: unknown): StoreError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const where = `${JSON.stringify(parts.service)} at the sentinels ${hostsOf(parts)}`
  return new StoreError(`the Redis master ${where} cannot be reached: ${why}`, { cause })
}

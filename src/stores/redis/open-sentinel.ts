import { clientMissing, optionalPeer } from '../../core/optional-peer.ts'
import { answeredWithin } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { StoreError, unreachable } from '../../errors.ts'
import { ignore, type RedisClient, withoutCommand } from './clients/client.ts'
import {
  connectFirst,
  disconnect,
  IOREDIS_OPTIONS,
  type Ioredis,
  IoredisClient,
  ignoreErrors,
  reconnectAfterMs,
  SENTINEL_OPTIONS,
} from './clients/ioredis.ts'
import { type NodeRedisSentinel, NodeRedisSentinelClient } from './clients/node-redis-sentinel.ts'
import { createRedisStore } from './create.ts'
import { type RedisSettings, redisParametersOf, redisSettingsOf } from './options.ts'
import { credentialsOf, hostsOf, type SentinelUrl, sentinelUrl } from './url.ts'

const CREDENTIALS = { sentinelUsername: true, sentinelPassword: true } as const
type Sentinels = SentinelUrl & Partial<Record<keyof typeof CREDENTIALS, string>>

/** A store at the master that sentinels name: `redis+sentinel://user:password@h1:26379,h2:26379/service/0`. */
export async function openSentinel(given: string, callTimeoutMs: number): Promise<Store> {
  const { url, options, others } = redisParametersOf(given, CREDENTIALS)
  const parts = { ...sentinelUrl(url), ...others }
  const settings = redisSettingsOf(options, callTimeoutMs)
  const client = (await openIoredis(parts, settings)) ?? (await openNodeRedis(parts, settings))
  if (client === null)
    throw clientMissing('redis+sentinel', ['ioredis', 'redis'], 'redis() of holdfast/redis')
  return createRedisStore(client, settings)
}

async function openIoredis(parts: Sentinels, settings: RedisSettings): Promise<RedisClient | null> {
  const library = await optionalPeer<typeof import('ioredis')>('ioredis')
  if (library === null) return null
  let connected = false
  const { addresses, service, database, sentinelUsername, sentinelPassword, tls } = parts
  const client = new library.Redis({
    ...IOREDIS_OPTIONS,
    sentinels: addresses.map((address) => ({ ...address })),
    name: service,
    db: database,
    ...SENTINEL_OPTIONS,
    sentinelCommandTimeout: sentinelMsOf(parts, settings),
    sentinelRetryStrategy: (attempts) => (connected ? reconnectAfterMs(attempts) : null),
    retryStrategy: (attempts) => (connected ? reconnectAfterMs(attempts) : null),
    ...credentialsOf(parts),
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }) as unknown as Ioredis
  let sentinelFailure: unknown = null
  ignoreErrors(client, (error) => {
    sentinelFailure = withoutCommand(error)
  })
  try {
    await answeredWithin(connectFirst(client), settings.callTimeoutMs, settings.runtime)
  } catch (error) {
    disconnect(client)
    throw unreachable(masterOf(parts), timed(sentinelFailure ?? error, sentinelMsOf(parts, settings)))
  }
  connected = true
  return new IoredisClient(client, true)
}

async function openNodeRedis(parts: Sentinels, settings: RedisSettings): Promise<RedisClient | null> {
  const library = await optionalPeer<typeof import('redis')>('redis')
  if (library === null) return null
  const { addresses, service, database, sentinelUsername, sentinelPassword, tls } = parts
  const { callTimeoutMs, runtime } = settings
  // Its connections to the sentinels have no deadline of their own; what is idle is kept by pings.
  const lively = (socketTimeout: number) => ({
    pingInterval: socketTimeout / 3,
    socket: { socketTimeout, ...(tls && { tls: true as const }) },
  })
  const sentinel = library.createSentinel({
    name: service,
    sentinelRootNodes: addresses.map((address) => ({ ...address })),
    maxCommandRediscovers: 1,
    nodeClientOptions: {
      database,
      ...lively(callTimeoutMs),
      ...credentialsOf(parts),
    },
    sentinelClientOptions: {
      ...lively(sentinelMsOf(parts, settings)),
      ...credentialsOf({ username: sentinelUsername, password: sentinelPassword }),
    },
  }) as unknown as NodeRedisSentinel & { connect(): Promise<unknown> }
  // The class itself only says that no sentinel is available.
  let failure: unknown = null
  sentinel.on('error', (error: unknown) => {
    if (error instanceof Error && !/^None of the sentinels/.test(error.message)) failure = error
  })
  sentinel.on('client-error', ignore)
  try {
    await answeredWithin(sentinel.connect(), callTimeoutMs, runtime)
  } catch (error) {
    // Ends with the attempt that is under way, which that deadline bounds, too.
    Promise.resolve(sentinel.destroy()).catch(ignore)
    throw unreachable(masterOf(parts), error instanceof StoreError ? error : (failure ?? error))
  }
  return new NodeRedisSentinelClient(sentinel, true, settings)
}

/** One after the other is asked: a silent one must not take the time of the others. */
function sentinelMsOf({ addresses }: SentinelUrl, { callTimeoutMs }: RedisSettings): number {
  return Math.floor(callTimeoutMs / (addresses.length + 1))
}

/** The library does not say how long it has waited. */
function timed(error: unknown, waitedMs: number): unknown {
  const late = error instanceof Error && /timed out/i.test(error.message)
  return late ? new StoreError(`no answer within ${waitedMs} ms`) : error
}

/** Only the hosts are named: the URL may hold passwords. */
function masterOf(parts: SentinelUrl): string {
  return `the Redis master ${JSON.stringify(parts.service)} at the sentinels ${hostsOf(parts)}`
}

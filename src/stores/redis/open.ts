import { clientMissing, optionalPeer } from '../../core/optional-peer.ts'
import { answeredWithin } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { InvalidArgumentError, unreachable } from '../../errors.ts'
import { ignore, type RedisClient } from './clients/client.ts'
import { connectFirst, disconnect, IOREDIS_OPTIONS, type Ioredis, IoredisClient } from './clients/ioredis.ts'
import { destroy, type NodeRedis, NodeRedisClient, reconnectStrategy } from './clients/node-redis.ts'
import { createRedisStore } from './create.ts'
import { type RedisSettings, redisParametersOf, redisSettingsOf } from './options.ts'

/** Which addresses of a host are taken, 4 or 6; 0 for both: some networks inside have only IPv6. */
const PASSED = { family: true } as const

/** A store over a connection of its own: `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
export async function openRedis(given: string, callTimeoutMs: number): Promise<Store> {
  const { url, options, others } = redisParametersOf(given, PASSED)
  requireSound(url)
  const settings = redisSettingsOf(options, callTimeoutMs)
  const family = familyOf(others.family)
  const client = (await openIoredis(url, family, settings)) ?? (await openNodeRedis(url, family, settings))
  if (client === null) throw clientMissing('redis', ['ioredis', 'redis'], 'redis() of holdfast/redis')
  return createRedisStore(client, settings)
}

type Family = { family?: 0 | 4 | 6 }

function familyOf(text: string | undefined): Family {
  if (text === undefined) return {}
  if (text !== '0' && text !== '4' && text !== '6')
    throw new InvalidArgumentError('family', 'must be 0, 4 or 6')
  return { family: Number(text) as 0 | 4 | 6 }
}

async function openIoredis(
  url: string,
  family: Family,
  { callTimeoutMs, runtime }: RedisSettings,
): Promise<RedisClient | null> {
  const library = await optionalPeer<typeof import('ioredis')>('ioredis')
  if (library === null) return null
  const client = new library.Redis(url, { ...IOREDIS_OPTIONS, ...family }) as unknown as Ioredis
  client.on('error', ignore)
  try {
    await answeredWithin(connectFirst(client), callTimeoutMs, runtime)
  } catch (error) {
    disconnect(client)
    throw unreachable(serverOf(url), error)
  }
  return new IoredisClient(client, true)
}

async function openNodeRedis(
  url: string,
  family: Family,
  { callTimeoutMs, runtime }: RedisSettings,
): Promise<RedisClient | null> {
  const library = await optionalPeer<typeof import('redis')>('redis')
  if (library === null) return null
  let connected = false
  const strategy = (attempts: number): number | false => connected && reconnectStrategy(attempts)
  const options = { url, disableOfflineQueue: true, socket: { reconnectStrategy: strategy, ...family } }
  const client = library.createClient(options) as unknown as NodeRedis
  client.on('error', ignore)
  try {
    await answeredWithin(client.connect(), callTimeoutMs, runtime)
  } catch (error) {
    destroy(client)
    throw unreachable(serverOf(url), error)
  }
  connected = true
  return new NodeRedisClient(client, true)
}

function requireSound(url: string): void {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new InvalidArgumentError('url', 'must be like redis://user:password@host:6379/0')
  }
  if (parts.hostname === '') throw new InvalidArgumentError('url', 'names no host')
  if (!/^\/?\d*$/.test(parts.pathname))
    throw new InvalidArgumentError('url', 'must end with the number of the database, such as /0')
}

/** The URL may hold a password, so only its host is named. */
function serverOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `Redis at ${hostname}:${port || 6379}`
}

import type { Store } from '../../core/store.ts'
import { InvalidArgumentError, StoreError, UnsupportedError } from '../../errors.ts'
import { ignore, type RedisClient } from './clients/client.ts'
import { IOREDIS_OPTIONS, type Ioredis, IoredisClient } from './clients/ioredis.ts'
import { type NodeRedis, NodeRedisClient } from './clients/node-redis.ts'
import { storeOf } from './make.ts'
import { settingsOf } from './options.ts'
import { parametersOf } from './parameters.ts'

/** A store over a connection of its own: `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
export async function openRedis(given: string): Promise<Store> {
  const { url, options } = parametersOf(given)
  requireSound(url)
  const settings = settingsOf(options)
  const client = (await openIoredis(url)) ?? (await openNodeRedis(url))
  if (client === null) {
    throw new UnsupportedError('redis:// needs a client library: npm install ioredis, or npm install redis')
  }
  return storeOf(client, settings)
}

async function openIoredis(url: string): Promise<RedisClient | null> {
  const library = await optional(() => import('ioredis'))
  if (library === null) return null
  const client = new library.Redis(url, IOREDIS_OPTIONS) as unknown as Ioredis
  client.on('error', ignore)
  try {
    await client.connect()
  } catch (error) {
    client.disconnect()
    throw unreachable(url, error)
  }
  return new IoredisClient(client, true)
}

async function openNodeRedis(url: string): Promise<RedisClient | null> {
  const library = await optional(() => import('redis'))
  if (library === null) return null
  let connected = false
  const reconnectStrategy = (attempts: number): number | false =>
    connected && Math.min((attempts + 1) * 50, 500)
  const options = { url, disableOfflineQueue: true, socket: { reconnectStrategy } }
  const client = library.createClient(options) as unknown as NodeRedis
  client.on('error', ignore)
  try {
    await client.connect()
  } catch (error) {
    throw unreachable(url, error)
  }
  connected = true
  return new NodeRedisClient(client, true)
}

/** Null when the library is not installed; any other failure to load it is the user's to see. */
export async function optional<T>(load: () => Promise<T>): Promise<T | null> {
  try {
    return await load()
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return null
    throw error
  }
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
function unreachable(url: string, cause: unknown): StoreError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(`Redis at ${new URL(url).host} cannot be reached: ${why}`, { cause })
}

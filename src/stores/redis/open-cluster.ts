import { clientMissing, optionalPeer } from '../../core/optional-peer.ts'
import { answeredWithin } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { unreachable } from '../../errors.ts'
import { IOREDIS_OPTIONS, type Ioredis } from './clients/ioredis.ts'
import { openIoredisNode } from './clients/ioredis-cluster.ts'
import type { NodeRedis } from './clients/node-redis.ts'
import { openNodeRedisNode } from './clients/node-redis-cluster.ts'
import { ClusterClient } from './cluster/client.ts'
import type { Dialer } from './cluster/map.ts'
import { createRedisStore } from './create.ts'
import { redisParametersOf, redisSettingsOf } from './options.ts'
import { clusterUrl, credentialsOf, hostsOf } from './url.ts'

type Servers = ReturnType<typeof clusterUrl>

/** A store in a cluster, over connections of its own: `redis+cluster://user:password@h1:6379,h2:6379,h3:6379`. */
export async function openCluster(given: string, callTimeoutMs: number): Promise<Store> {
  const { url, options } = redisParametersOf(given, {})
  const servers = clusterUrl(url)
  const settings = redisSettingsOf(options, callTimeoutMs)
  const open = (await ioredisNodes(servers)) ?? (await nodeRedisNodes(servers))
  if (open === null) throw clientMissing('redis+cluster', ['ioredis', 'redis'], 'redis() of holdfast/redis')
  const seeds = async () => servers.addresses
  const client = new ClusterClient({ keyPrefix: '', seeds, open, reach: (address) => address }, settings)
  try {
    await answeredWithin(client.connect(), callTimeoutMs, settings.runtime)
  } catch (cause) {
    await client.close()
    throw unreachable(`the Redis cluster at ${hostsOf(servers)}`, cause)
  }
  return createRedisStore(client, settings)
}

/** The model is never connected itself: it says how the servers are reached. */
async function ioredisNodes(servers: Servers): Promise<Dialer['open'] | null> {
  const library = await optionalPeer<typeof import('ioredis')>('ioredis')
  if (library === null) return null
  const options = { ...IOREDIS_OPTIONS, ...credentialsOf(servers), ...(servers.tls && { tls: {} }) }
  const model = new library.Redis(options) as unknown as Ioredis
  return (address) => openIoredisNode(model, address, '')
}

async function nodeRedisNodes(servers: Servers): Promise<Dialer['open'] | null> {
  const library = await optionalPeer<typeof import('redis')>('redis')
  if (library === null) return null
  const socket = servers.tls && { socket: { tls: true } as const }
  const model = library.createClient({ ...credentialsOf(servers), ...socket })
  return (address) => openNodeRedisNode(model as unknown as NodeRedis, address)
}

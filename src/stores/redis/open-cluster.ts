import type { Store } from '../../core/store.ts'
import { StoreError, UnsupportedError } from '../../errors.ts'
import { IOREDIS_OPTIONS, type Ioredis } from './clients/ioredis.ts'
import { openNode as openIoredisNode } from './clients/ioredis-cluster.ts'
import { type NodeRedisNode, openNode as openNodeRedisNode } from './clients/node-redis-cluster.ts'
import { ClusterClient } from './cluster/client.ts'
import type { Dialer } from './cluster/map.ts'
import { storeOf } from './make.ts'
import { optional } from './open.ts'
import { settingsOf } from './options.ts'
import { parametersOf } from './parameters.ts'
import { clusterUrl, hostsOf } from './url.ts'

type Servers = ReturnType<typeof clusterUrl>

/** A store in a cluster, over connections of its own: `redis+cluster://user:password@h1:6379,h2:6379,h3:6379`. */
export async function openCluster(given: string): Promise<Store> {
  const { url, options } = parametersOf(given)
  const servers = clusterUrl(url)
  const settings = settingsOf(options)
  const open = (await ioredisNodes(servers)) ?? (await nodeRedisNodes(servers))
  if (open === null)
    throw new UnsupportedError(
      'redis+cluster:// needs a client library: npm install ioredis, or npm install redis',
    )
  const seeds = async () => servers.addresses
  const client = new ClusterClient(
    { keyPrefix: '', seeds, open, reach: (address) => address },
    settings.runtime,
    settings.replicas,
  )
  try {
    await client.connect()
  } catch (cause) {
    await client.close()
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StoreError(`the Redis cluster at ${hostsOf(servers)} cannot be reached: ${why}`, { cause })
  }
  return storeOf(client, settings)
}

/** The model is never connected itself: it says how the servers are reached. */
async function ioredisNodes({ username, password, tls }: Servers): Promise<Dialer['open'] | null> {
  const library = await optional(() => import('ioredis'))
  if (library === null) return null
  const credentials = { ...(username && { username }), ...(password && { password }) }
  const options = { ...IOREDIS_OPTIONS, ...credentials, ...(tls && { tls: {} }) }
  const model = new library.Redis(options) as unknown as Ioredis
  return (address) => openIoredisNode(model, address, '')
}

async function nodeRedisNodes({ username, password, tls }: Servers): Promise<Dialer['open'] | null> {
  const library = await optional(() => import('redis'))
  if (library === null) return null
  const credentials = { ...(username && { username }), ...(password && { password }) }
  const model = library.createClient({ ...credentials, ...(tls && { socket: { tls: true } }) })
  return (address) => openNodeRedisNode(model as unknown as NodeRedisNode, address)
}

import { connect, createLocks, type Locks, type LocksOptions } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Cluster, Redis } from 'ioredis'
import type { Addresses } from './order.ts'

/**
 * Connects by a URL. Where servers tell their clients whom to connect to, the client is made by hand: it has to translate what it is
 * told, or its second connection would go past the proxies.
 */
export async function open(url: string, addresses: Addresses | null, options: LocksOptions): Promise<Locks> {
  if (addresses === null) return connect(url, options)
  const client = clientOf(url, addresses)
  client.on('error', () => {})
  const locks = createLocks({ ...options, store: redis(client) })
  const close = locks.close.bind(locks)
  locks.close = async () => {
    await close()
    client.disconnect()
  }
  return locks
}

function clientOf(url: string, natMap: Addresses): Redis | Cluster {
  const [scheme, rest = ''] = url.split('://')
  const [hosts = '', service = ''] = rest.split('/')
  const nodes = hosts.split(',').map((address) => {
    const [host = '', port] = address.split(':')
    return { host, port: Number(port) }
  })
  return scheme === 'redis+cluster'
    ? new Cluster(nodes, { natMap })
    : new Redis({ sentinels: nodes, name: service, natMap })
}

import { GlideClient } from '@valkey/valkey-glide'
import type { Store } from 'holdfast'
import { type AnyRedisClient, type RedisOptions, redis } from 'holdfast/redis'
import { Redis as Ioredis5 } from 'ioredis'
import { Redis as Ioredis6 } from 'ioredis6'
import { createClient as createNodeRedis6 } from 'redis'
import { createClient as createNodeRedis5 } from 'redis5'

/** A client as a user would make it, with the way to close it. */
interface Brought {
  readonly client: AnyRedisClient
  close(): unknown
}

type Bring = (port: number, name: string) => Promise<Brought>

/** A duplicate shares the class of these; to make a class anew for each set of options takes them long. */
const nodeRedis5 = createNodeRedis5()
const nodeRedis6 = createNodeRedis6()

/** The clients that the store is tested with. Every connection of a client bears its name. */
export const CLIENTS: Record<string, Bring> = {
  'ioredis 5': async (port, connectionName) => ioredis(new Ioredis5(port, '127.0.0.1', { connectionName })),
  'ioredis 6': async (port, connectionName) => ioredis(new Ioredis6(port, '127.0.0.1', { connectionName })),
  'redis 5': (port, name) => nodeRedis(nodeRedis5.duplicate({ socket: { host: '127.0.0.1', port }, name })),
  'redis 6': (port, name) => nodeRedis(nodeRedis6.duplicate({ socket: { host: '127.0.0.1', port }, name })),
  glide: async (port, clientName) => {
    const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], clientName })
    return { client, close: () => client.close() }
  },
}

let names = 0

/** A store over a client of its own, which is closed with it; `name` tells its connections in CLIENT LIST. */
export async function openStore(
  bring: Bring,
  port: number,
  options: RedisOptions = {},
): Promise<{ store: Store; name: string }> {
  const name = `test-${++names}`
  const { client, close } = await bring(port, name)
  const store = redis(client, options)
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    await close()
  }
  return { store, name }
}

/** Cuts every connection of that name, as a reset of the network would. */
export async function cut(operator: Ioredis5, name: string, kind = ''): Promise<void> {
  const list = String(await operator.call('CLIENT', ['LIST', ...(kind === '' ? [] : ['TYPE', kind])]))
  for (const line of list.split('\n')) {
    const id = /^id=(\d+) /.exec(line)?.[1]
    if (id !== undefined && line.includes(` name=${name} `)) await operator.call('CLIENT', ['KILL', 'ID', id])
  }
}

async function nodeRedis(client: typeof nodeRedis5 | typeof nodeRedis6): Promise<Brought> {
  client.on('error', () => {})
  await client.connect()
  return { client, close: () => client.destroy() }
}

function ioredis(client: Ioredis5 | Ioredis6): Brought {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}

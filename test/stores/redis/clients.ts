import { GlideClient } from '@valkey/valkey-glide'
import type { Store } from 'holdfast'
import { type AnyRedisClient, redis } from 'holdfast/redis'
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

/** The clients that the store is tested with. Every connection of a client bears its name. */
export const CLIENTS: Record<string, Bring> = {
  'ioredis 5': async (port, connectionName) => ioredis(new Ioredis5(port, { connectionName })),
  'ioredis 6': async (port, connectionName) => ioredis(new Ioredis6(port, { connectionName })),
  'redis 5': async (port, name) => {
    const client = createNodeRedis5({ socket: { port }, name })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  'redis 6': async (port, name) => {
    const client = createNodeRedis6({ socket: { port }, name })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  glide: async (port, clientName) => {
    const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], clientName })
    return { client, close: () => client.close() }
  },
}

let names = 0

/** A store over a client of its own, which is closed with it; `name` tells its connections in CLIENT LIST. */
export async function openStore(bring: Bring, port: number): Promise<{ store: Store; name: string }> {
  const name = `test-${++names}`
  const { client, close } = await bring(port, name)
  const store = redis(client)
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

function ioredis(client: Ioredis5 | Ioredis6): Brought {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}

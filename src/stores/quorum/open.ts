import { nodeRuntime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { type StoreError, UnsupportedError } from '../../errors.ts'
import { firstConnection, ignore, type RedisClient } from '../redis/clients/client.ts'
import { IOREDIS_OPTIONS, type Ioredis, IoredisClient } from '../redis/clients/ioredis.ts'
import { type NodeRedis, NodeRedisClient } from '../redis/clients/node-redis.ts'
import { optional } from '../redis/open.ts'
import { assemble } from './assemble.ts'
import { nodeError, outageOf } from './failures.ts'
import { RedisNode } from './redis/node.ts'
import { majorityOf } from './tally.ts'
import { type Address, addressesOf } from './url.ts'

/** How long servers that do not answer are waited for when the others are there. */
const CONNECT_MS = 2000

/** A connection that goes on trying by itself, and how its first attempt ended. */
interface Opening {
  readonly client: RedisClient
  readonly first: Promise<unknown>
}

type Open = (url: string) => Opening

/** A store over connections of its own: `redlock://h1:6379,h2:6379,h3:6379`. A minority may be away at first. */
export async function openQuorum(url: string): Promise<Store> {
  const addresses = addressesOf(url)
  const open = (await ioredis()) ?? (await nodeRedis())
  if (open === null)
    throw new UnsupportedError('redlock:// needs a client library: npm install ioredis, or npm install redis')
  const openings = addresses.map((address) => open(address.url))
  const nodes = openings.map(({ client }, index) => new RedisNode((addresses[index] as Address).name, client))
  const failures = await failuresOf(openings, addresses)
  const needed = majorityOf(nodes.length)
  try {
    if (nodes.length - failures.length < needed)
      throw outageOf(nodes.length - failures.length, needed, nodes.length, failures)
    const store = assemble(nodes, {})
    await store.ready()
    return store
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()))
    throw error
  }
}

async function failuresOf(
  openings: readonly Opening[],
  addresses: readonly Address[],
): Promise<StoreError[]> {
  const failures = await Promise.all(
    openings.map(async ({ first }, index) => {
      try {
        await bounded(first)
        return null
      } catch (error) {
        return nodeError((addresses[index] as Address).name, error)
      }
    }),
  )
  return failures.filter((failure) => failure !== null)
}

function bounded(first: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no connection within ${CONNECT_MS} ms`))
    const timer = nodeRuntime.setTimer(late, CONNECT_MS, false)
    first.then(resolve, reject).finally(() => timer.clear())
  })
}

async function ioredis(): Promise<Open | null> {
  const library = await optional(() => import('ioredis'))
  if (library === null) return null
  return (url) => {
    const client = new library.Redis(url, IOREDIS_OPTIONS) as unknown as Ioredis
    client.on('error', ignore)
    return { client: new IoredisClient(client, true), first: client.connect() }
  }
}

async function nodeRedis(): Promise<Open | null> {
  const library = await optional(() => import('redis'))
  if (library === null) return null
  return (url) => {
    const reconnectStrategy = (attempts: number): number => Math.min((attempts + 1) * 50, 500)
    const options = { url, disableOfflineQueue: true, socket: { reconnectStrategy } }
    const client = library.createClient(options) as unknown as NodeRedis
    client.on('error', ignore)
    const first = firstConnection(client, ['error', 'end'])
    client.connect().catch(ignore)
    return { client: new NodeRedisClient(client, true), first }
  }
}

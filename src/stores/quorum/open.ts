import { clientMissing, optionalPeer } from '../../core/optional-peer.ts'
import type { Store } from '../../core/store.ts'
import type { StoreError } from '../../errors.ts'
import { firstConnection, ignore, type RedisClient } from '../redis/clients/client.ts'
import { connectFirst, IOREDIS_OPTIONS, type Ioredis, IoredisClient } from '../redis/clients/ioredis.ts'
import { type NodeRedis, NodeRedisClient, reconnectStrategy } from '../redis/clients/node-redis.ts'
import { gatherAnswers, nodeError, outageOf } from './gather.ts'
import { assemble, type QuorumSettings, quorumSettingsOf } from './options.ts'
import { RedisNode } from './redis/node.ts'
import { majorityOf } from './tally.ts'
import { addressesOf, type NodeAddress } from './url.ts'

/** How long to wait for servers while too few are connected. */
const CONNECT_MS = 2000

/** A connection that reconnects by itself, and the result of its first attempt. */
interface Opening {
  readonly client: RedisClient
  readonly first: Promise<unknown>
}

type Open = (url: string) => Opening

/** A store over connections of its own: `redlock://h1:6379,h2:6379,h3:6379`. A minority may be away at first. */
export async function openQuorum(url: string, callTimeoutMs: number): Promise<Store> {
  const addresses = addressesOf(url)
  const open = (await ioredis()) ?? (await nodeRedis())
  if (open === null) throw clientMissing('redlock', ['ioredis', 'redis'], 'quorum() of holdfast/quorum')
  const settings = quorumSettingsOf({}, callTimeoutMs)
  const openings = addresses.map((address) => open(address.url))
  const nodes = openings.map(
    ({ client }, index) => new RedisNode((addresses[index] as NodeAddress).name, client, settings),
  )
  const failures = await failuresOf(openings, addresses, settings)
  const needed = majorityOf(nodes.length)
  try {
    if (nodes.length - failures.length < needed)
      throw outageOf(nodes.length - failures.length, needed, nodes.length, failures)
    const store = assemble(nodes, settings)
    await store.ready()
    return store
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()))
    throw error
  }
}

async function failuresOf(
  openings: readonly Opening[],
  addresses: readonly NodeAddress[],
  { callTimeoutMs, runtime }: QuorumSettings,
): Promise<StoreError[]> {
  const firsts = openings.map(({ first }) => first)
  const limitMs = Math.min(CONNECT_MS, callTimeoutMs)
  const outcomes = await gatherAnswers(firsts, majorityOf(firsts.length), limitMs, runtime)
  return outcomes.flatMap((outcome, index) =>
    'error' in outcome ? [nodeError((addresses[index] as NodeAddress).name, outcome.error)] : [],
  )
}

async function ioredis(): Promise<Open | null> {
  const library = await optionalPeer<typeof import('ioredis')>('ioredis')
  if (library === null) return null
  return (url) => {
    const client = new library.Redis(url, IOREDIS_OPTIONS) as unknown as Ioredis
    client.on('error', ignore)
    return { client: new IoredisClient(client, true), first: connectFirst(client) }
  }
}

async function nodeRedis(): Promise<Open | null> {
  const library = await optionalPeer<typeof import('redis')>('redis')
  if (library === null) return null
  return (url) => {
    const options = { url, disableOfflineQueue: true, socket: { reconnectStrategy } }
    const client = library.createClient(options) as unknown as NodeRedis
    client.on('error', ignore)
    const first = firstConnection(client, ['error', 'end'])
    client.connect().catch(ignore)
    return { client: new NodeRedisClient(client, true), first }
  }
}

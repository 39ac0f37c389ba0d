import type { Store } from 'holdfast'
import { type AnyRedisClient, type RedisOptions, redis } from 'holdfast/redis'
import { Redis as Ioredis5 } from 'ioredis'
import { Redis as Ioredis6 } from 'ioredis6'
import { createSentinel as createNodeRedis6 } from 'redis'
import { createSentinel as createNodeRedis5 } from 'redis5'
import type { SentinelGroup } from '../../../scripts/servers/sentinel.ts'
import { cut } from './clients.ts'

/** A sentinel client as a user would make it, with the way to close it. */
interface Brought {
  readonly client: AnyRedisClient
  close(): unknown
}

type Bring = (group: SentinelGroup, name: string) => Promise<Brought>

const HOST = '127.0.0.1'

/** A client that many stores share: it takes node-redis 150 ms to make one. The connections of each store bear its name. */
export async function shareable(client: 'redis 5' | 'redis 6', group: SentinelGroup) {
  const { client: made, close } = await SENTINEL_CLIENTS[client](group, 'shared')
  const shared = made as unknown as Shared
  shared.setMaxListeners(0)
  const bring: Bring = async (_group, name) => {
    const { isOpen, isReady } = shared
    const named = {
      isOpen,
      isReady,
      getMasterNode: () => shared.getMasterNode(),
      getSentinelNode: () => shared.getSentinelNode(),
      on: shared.on.bind(shared),
      off: shared.off.bind(shared),
      _execute: async (isReadonly: boolean, task: (client: unknown) => unknown) =>
        task(await shared._execute(isReadonly, (node) => node.duplicate({ name }))),
    }
    return { client: named, close: () => {} }
  }
  return { bring, close }
}

interface Shared extends NodeRedisSentinel {
  readonly isOpen: boolean
  off(event: string, listener: () => void): unknown
  setMaxListeners(count: number): unknown
  _execute<T>(isReadonly: boolean, task: (client: { duplicate(options: object): T }) => T): Promise<T>
}

/** The sentinel clients that the store is tested with. Every connection of a client bears its name. */
export const SENTINEL_CLIENTS = {
  'ioredis 5': (group: SentinelGroup, name: string) => ioredis(new Ioredis5(ioredisOptions(group, name))),
  'ioredis 6': (group: SentinelGroup, name: string) => ioredis(new Ioredis6(ioredisOptions(group, name))),
  'redis 5': (group: SentinelGroup, name: string) => nodeRedis(createNodeRedis5, group, name),
  'redis 6': (group: SentinelGroup, name: string) => nodeRedis(createNodeRedis6, group, name),
} satisfies Record<string, Bring>

/** The used part of node-redis's sentinel class. */
interface NodeRedisSentinel {
  readonly isReady: boolean
  getMasterNode(): unknown
  getSentinelNode(): unknown
  on(event: string, listener: () => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
}

let names = 0

/** A store over a client of its own, which is closed with it; `name` tells its connections in CLIENT LIST. */
export async function openSentinelStore(
  bring: Bring,
  group: SentinelGroup,
  options: RedisOptions = {},
): Promise<{ store: Store; name: string }> {
  const name = `test-${++names}`
  const { client, close } = await bring(group, name)
  const store = redis(client, { check: false, ...options })
  // Tests do not measure the first connection.
  await store.admin.read('first')
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    await close()
  }
  return { store, name }
}

/** Cuts every connection of that name, on every server. */
export async function cutServers(group: SentinelGroup, name: string): Promise<void> {
  await Promise.all(group.servers.map((server) => cut(group.operator(server), name)))
}

function addressesOf(group: SentinelGroup): { host: string; port: number }[] {
  return group.ports.map((port) => ({ host: HOST, port }))
}

function ioredisOptions(group: SentinelGroup, connectionName: string) {
  return { sentinels: addressesOf(group), name: group.service, connectionName }
}

async function ioredis(client: Ioredis5 | Ioredis6): Promise<Brought> {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}

async function nodeRedis(create: unknown, group: SentinelGroup, name: string): Promise<Brought> {
  // To make a class anew for each set of options takes the library long; it tells them apart by their JSON.
  const nodeClientOptions = { name, toJSON: () => 'the same class for all' }
  const options = { name: group.service, sentinelRootNodes: addressesOf(group), nodeClientOptions }
  const client = (create as (options: object) => NodeRedisSentinel)(options)
  client.on('error', () => {})
  await client.connect()
  return { client, close: () => client.destroy() }
}

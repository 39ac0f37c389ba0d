import type { Store } from 'holdfast'
import { type AnyRedisClient, type RedisOptions, redis } from 'holdfast/redis'
import { Cluster as Ioredis5, type Redis } from 'ioredis'
import { Cluster as Ioredis6 } from 'ioredis6'
import { createCluster as createNodeRedis6 } from 'redis'
import { createCluster as createNodeRedis5 } from 'redis5'
import type { RedisCluster } from '../../../scripts/servers/cluster.ts'
import { cut } from './clients.ts'

/** A cluster client as a user would make it, with the way to close it. */
interface Brought {
  readonly client: AnyRedisClient
  close(): unknown
}

type Bring = (ports: readonly number[], name: string) => Promise<Brought>

const HOST = '127.0.0.1'

/** The cluster clients that the store is tested with. Every connection of a client bears its name. */
export const CLUSTER_CLIENTS = {
  'ioredis 5': (ports: readonly number[], name: string) =>
    ioredis(new Ioredis5(nodesOf(ports), optionsOf(name))),
  'ioredis 6': (ports: readonly number[], name: string) =>
    ioredis(new Ioredis6(nodesOf(ports), optionsOf(name))),
  'redis 5': (ports: readonly number[], name: string) =>
    nodeRedis(nodeRedis5.duplicate(nodeRedisOptions(ports, name))),
  'redis 6': (ports: readonly number[], name: string) =>
    nodeRedis(nodeRedis6.duplicate(nodeRedisOptions(ports, name))),
} satisfies Record<string, Bring>

/** The used part of node-redis's cluster class: with its own type, the compiler needs gigabytes. */
interface NodeRedisCluster {
  readonly masters: readonly object[]
  readonly isOpen: boolean
  nodeClient(node: never): unknown
  duplicate(options: object): NodeRedisCluster
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
}

const nodeRedis5 = (createNodeRedis5 as unknown as (options: object) => NodeRedisCluster)({ rootNodes: [] })
const nodeRedis6 = (createNodeRedis6 as unknown as (options: object) => NodeRedisCluster)({ rootNodes: [] })

let names = 0

/** A store over a client of its own, which is closed with it; `name` tells its connections in CLIENT LIST. */
export async function openClusterStore(
  bring: Bring,
  cluster: RedisCluster,
  options: RedisOptions = {},
): Promise<{ store: Store; name: string }> {
  const name = `test-${++names}`
  const { client, close } = await bring(cluster.ports, name)
  const store = redis(client, { check: false, ...options })
  // One key of each master, so that what a test measures is no first connection.
  await Promise.all(['a', 'b', 'c'].map((key) => store.admin.read(key)))
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    await close()
  }
  return { store, name }
}

/** Cuts every connection of that name, on every server. */
export async function cutEverywhere(cluster: RedisCluster, name: string, kind = ''): Promise<void> {
  await Promise.all(cluster.nodes.map(({ operator }) => cut(operator, name, kind)))
}

export function everywhere(
  cluster: RedisCluster,
  act: (operator: Redis) => Promise<unknown>,
): Promise<unknown> {
  return Promise.all(cluster.nodes.map(({ operator }) => act(operator)))
}

function nodesOf(ports: readonly number[]): { host: string; port: number }[] {
  return ports.map((port) => ({ host: HOST, port }))
}

function optionsOf(connectionName: string) {
  return { redisOptions: { connectionName } }
}

function nodeRedisOptions(ports: readonly number[], name: string) {
  const rootNodes = ports.map((port) => ({ socket: { host: HOST, port } }))
  // To make a class anew for each set of options takes the library long; it tells them apart by their JSON.
  return { rootNodes, minimizeConnections: true, defaults: { name, toJSON: () => 'the same class for all' } }
}

async function ioredis(client: Ioredis5 | Ioredis6): Promise<Brought> {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}

async function nodeRedis(client: NodeRedisCluster): Promise<Brought> {
  client.on('error', () => {})
  await client.connect()
  return { client, close: () => client.destroy() }
}

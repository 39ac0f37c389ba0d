import { afterAll, afterEach, beforeAll } from 'vitest'
import { startProxy, type TcpProxy } from '../../../../scripts/servers/proxy.ts'
import { type Ensemble, startZooKeeper } from '../../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../../src/core/runtime.ts'
import { ZooKeeperClient } from '../../../../src/stores/zookeeper/client/client.ts'
import type { Server } from '../../../../src/stores/zookeeper/client/connection.ts'
import type { Acl, NodeKind } from '../../../../src/stores/zookeeper/client/protocol.ts'
import type { SessionOptions } from '../../../../src/stores/zookeeper/client/session.ts'

export const WORLD: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }]
export const CREATOR: readonly Acl[] = [{ permissions: 31, scheme: 'auth', id: '' }]
export const NOTHING = Buffer.alloc(0)
export const TIMEOUT_MS = 3000

export let ensemble: Ensemble
export let proxies: TcpProxy[]
const opened: ZooKeeperClient[] = []
let paths = 0

beforeAll(async () => {
  ensemble = await startZooKeeper()
  proxies = await Promise.all(ensemble.ports.map((port) => startProxy(port)))
})

afterEach(async () => {
  for (const proxy of proxies) proxy.heal()
  await Promise.all(opened.splice(0).map((client) => client.session.close()))
})

afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await ensemble.stop()
})

interface Opened {
  readonly client: ZooKeeperClient
  /** The events of the session, in order. */
  readonly told: string[]
}

export async function open(options: Partial<SessionOptions> = {}): Promise<Opened> {
  const told: string[] = []
  const servers = ensemble.ports.map((port): Server => ({ host: '127.0.0.1', port }))
  const client = new ZooKeeperClient(
    { servers, timeoutMs: TIMEOUT_MS, auth: null, tls: null, runtime: nodeRuntime, ...options },
    {
      connected: () => told.push('connected'),
      disconnected: () => told.push('disconnected'),
      expired: () => told.push('expired'),
    },
  )
  opened.push(client)
  await client.session.ready(10_000)
  return { client, told }
}

/** Through a proxy before each member. */
export function openByProxy(options: Partial<SessionOptions> = {}): Promise<Opened> {
  return open({ servers: proxies.map(({ port }) => ({ host: '127.0.0.1', port })), ...options })
}

export function proxyInUse(): TcpProxy {
  return proxies.find(({ connections }) => connections > 0) as TcpProxy
}

export function newPath(): string {
  return `/wire-${++paths}`
}

export function make(client: ZooKeeperClient, path: string, data = '', node: NodeKind = 'persistent') {
  return client.create(path, Buffer.from(data), node, WORLD)
}

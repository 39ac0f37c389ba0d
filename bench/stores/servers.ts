import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startMariadb } from '../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { startZooKeeper } from '../../scripts/servers/zookeeper.ts'

/** A store's servers, reached by a URL of which the ports can be exchanged for those of proxies. */
export interface Servers {
  readonly ports: readonly number[]
  url(ports: readonly number[]): string
  /** False for a store that lives in one process. */
  readonly shared: boolean
  stop(): Promise<unknown>
}

const hosts = (ports: readonly number[]): string => ports.map((port) => `127.0.0.1:${port}`).join(',')

/** The stores, by the name of their traits, in the order of the documentation. */
export const STORES: Readonly<Record<string, () => Promise<Servers>>> = {
  memory: async () => ({ ports: [], url: () => 'memory:', shared: false, stop: async () => {} }),
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
    const url = `sqlite:${join(folder, 'locks.db')}`
    const stop = async () => rmSync(folder, { recursive: true, force: true })
    return { ports: [], url: () => url, shared: true, stop }
  },
  postgres: () => postgres(''),
  'postgres+advisory': () => postgres('?advisory=true'),
  mysql: () => mariadb(''),
  'mysql+advisory': () => mariadb('?advisory=true'),
  redis: async () => {
    const server = await startRedis()
    const url = (ports: readonly number[]) => `redis://${hosts(ports)}`
    return { ports: [server.port], url, shared: true, stop: () => server.stop() }
  },
  quorum: async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
    return {
      ports: servers.map(({ port }) => port),
      url: (ports) => `redlock://${hosts(ports)}`,
      shared: true,
      stop: () => Promise.all(servers.map((server) => server.stop())),
    }
  },
  zookeeper: async () => {
    const { members, stop } = bound(await startZooKeeper())
    const ports = members.map(({ port }) => port)
    return { ports, url: (others) => `zookeeper://${hosts(others)}`, shared: true, stop }
  },
  etcd: async () => {
    const { members, stop } = bound(await startEtcd({ durable: true }))
    const ports = members.map(({ port }) => port)
    return { ports, url: (others) => `etcd://${hosts(others)}`, shared: true, stop }
  },
}

function bound<T extends { members: readonly { port: number }[]; stop(): Promise<unknown> }>(servers: T) {
  return { members: servers.members, stop: () => servers.stop() }
}

async function postgres(query: string): Promise<Servers> {
  const server = await startPostgres({ durable: true })
  const url = ([port]: readonly number[]) => server.url.replace(String(server.port), String(port)) + query
  return { ports: [server.port], url, shared: true, stop: () => server.stop() }
}

async function mariadb(query: string): Promise<Servers> {
  const server = await startMariadb({ durable: true })
  const url = ([port]: readonly number[]) => server.url.replace(String(server.port), String(port)) + query
  return { ports: [server.port], url, shared: true, stop: () => server.stop() }
}

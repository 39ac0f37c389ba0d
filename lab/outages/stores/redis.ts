import { createLocks } from 'holdfast'
import { redis as redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { startCluster } from '../../../scripts/servers/cluster.ts'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { startSentinels } from '../../../scripts/servers/sentinel.ts'
import { open } from '../../faults/roads.ts'
import { all, networkFaults, oneFrozen, type Process, roadsTo, serverFaults } from '../faults.ts'
import { TAG } from '../settings.ts'
import { type Fault, OPTIONS, type World, worldOf } from '../world.ts'

const NODES = 3

export async function redis(): Promise<World> {
  const server = await startRedis({ persistent: true })
  const [road] = await roadsTo([server.port])
  const url = `redis://127.0.0.1:${road?.port}`
  return worldOf(url, {
    faults: [...serverFaults([processOf(server)]), ...networkFaults(road ? [road] : []), full([server])],
    async stop() {
      road?.close()
      await server.stop()
    },
  })
}

/** The client of the caller, with its own settings. */
export async function nodeRedis(): Promise<World> {
  const world = await redis()
  return {
    ...world,
    url: null,
    async open() {
      const client = createClient({ url: world.url as string })
      client.on('error', () => {})
      await client.connect()
      const locks = createLocks({ ...OPTIONS, store: redisStore(client) })
      const close = locks.close.bind(locks)
      locks.close = () => close().finally(() => client.destroy())
      return locks
    },
  }
}

/** Sentinels tell addresses, so that the clients get a map from those to their roads; the URL leads to the sentinels alone. */
export async function sentinel(): Promise<World> {
  const group = await startSentinels()
  const servers = [...group.sentinels, ...group.servers]
  const roads = await roadsTo(servers.map(({ port }) => port))
  const ports = roads.slice(0, group.sentinels.length).map(({ port }) => port)
  const url = `redis+sentinel://${hostsOf(ports)}/${group.service}`
  const addresses = Object.fromEntries(
    roads.map(({ port }, place) => [`127.0.0.1:${servers[place]?.port}`, { host: '127.0.0.1', port }]),
  )
  return {
    url,
    open: () => open(url, addresses, OPTIONS),
    faults: [
      ...serverFaults(servers.map(processOf)),
      oneFrozen(async () => [(await group.master()).pid]),
      ...networkFaults(roads),
      full(group.servers),
    ],
    settle: () => group.settle(),
    async stop() {
      for (const road of roads) road.close()
      await group.stop()
    },
  }
}

/** The nodes announce their roads, so that clients by URL go through them. */
export async function cluster(): Promise<World> {
  const nodes = await startCluster(['--appendonly', 'yes'])
  const roads = await roadsTo(nodes.ports)
  // A node forgets it when it restarts.
  const settle = async (): Promise<void> => {
    for (const [place, { operator }] of nodes.nodes.entries())
      await operator.config('SET', 'cluster-announce-port', String(roads[place]?.port))
    await nodes.settle()
  }
  await settle()
  const servers = nodes.nodes.map(({ server }) => server)
  return worldOf(`redis+cluster://${hostsOf(roads.map(({ port }) => port))}`, {
    faults: [
      ...serverFaults(servers.map(processOf)),
      oneFrozen(async () => {
        const slot = await nodes.nodes[0]?.operator.cluster('KEYSLOT', TAG)
        return [(await nodes.ownerOf(Number(slot))).server.pid]
      }),
      ...networkFaults(roads),
      full(servers),
    ],
    settle,
    async stop() {
      for (const road of roads) road.close()
      await nodes.stop()
    },
  })
}

export async function quorum(): Promise<World> {
  const servers = await Promise.all(Array.from({ length: NODES }, () => startRedis({ persistent: true })))
  const roads = await roadsTo(servers.map(({ port }) => port))
  return worldOf(`redlock://${hostsOf(roads.map(({ port }) => port))}`, {
    faults: [
      ...serverFaults(servers.map(processOf)),
      oneFrozen(() => servers.slice(0, 1).map(({ pid }) => pid)),
      ...networkFaults(roads),
      full(servers),
    ],
    async stop() {
      for (const road of roads) road.close()
      await all(servers, (server) => server.stop())
    },
  })
}

function processOf(server: RedisServer): Process {
  return { pids: () => [server.pid], kill: () => server.kill(), start: () => server.start() }
}

/** Every command that may need memory is refused. */
function full(servers: readonly RedisServer[]): Fault {
  const limit = (bytes: number) =>
    all(servers, async ({ port }) => {
      const operator = new Redis(port)
      await operator.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', bytes)
      operator.disconnect()
    })
  return { name: 'full', start: () => limit(1), heal: () => limit(0) }
}

export function hostsOf(ports: readonly number[]): string {
  return ports.map((port) => `127.0.0.1:${port}`).join(',')
}

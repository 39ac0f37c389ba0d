import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import type { Random } from '../../simulation/random.ts'
import { TTL_MS } from '../settings.ts'
import { FakeClock } from './fake-clock.ts'
import { operation, serverKill, serverPause } from './process.ts'
import { KINDS_OF_CONNECTIONS, killConnections, operatorOf } from './redis.ts'
import type { StartWorld } from './world.ts'

const SERVERS = 5

/** Five servers that know nothing of each other, each with its own clock where clocks can be set. */
export const quorum: StartWorld = async (seed) => {
  const clocks = Array.from({ length: SERVERS }, () => FakeClock.of(seed))
  const servers = await Promise.all(
    clocks.map((clock) => startRedis({ persistent: true, ...(clock && { environment: clock.environment }) })),
  )
  const operators = servers.map(({ port }) => operatorOf(port))
  const nameOf = (server: RedisServer): string => `server ${servers.indexOf(server) + 1}`
  /** One or two: a minority. */
  const minority = (random: Random): RedisServer[] => {
    const first = random.whole(0, SERVERS - 1)
    const other = (first + random.whole(1, SERVERS - 1)) % SERVERS
    return (random.chance(500) ? [first] : [first, other]).map((place) => servers[place] as RedisServer)
  }
  const [clock] = clocks
  return {
    ports: servers.map(({ port }) => port),
    urlBy: (ports) => `redlock://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    nemeses: [
      serverKill((random) => {
        const chosen = minority(random)
        const each = async (act: (server: RedisServer) => Promise<void>): Promise<void> => {
          await Promise.all(chosen.map(act))
        }
        const name = chosen.map(nameOf).join(' and ')
        return {
          name,
          kill: () => each((server) => server.kill()),
          start: () => each((server) => server.start()),
        }
      }),
      serverPause((random) => {
        const chosen = minority(random)
        return { name: chosen.map(nameOf).join(' and '), pids: () => chosen.map(({ pid }) => pid) }
      }),
      {
        kind: 'empty restart',
        lastsMs: [0, TTL_MS],
        async strike(random) {
          const server = random.pick(servers)
          await (operators[servers.indexOf(server)] as ReturnType<typeof operatorOf>).flushall()
          await server.kill()
          return { target: nameOf(server), heal: () => server.start() }
        },
      },
      operation('connections killed', async (random) => {
        const server = random.whole(0, SERVERS - 1)
        return killConnections(
          operators[server] as ReturnType<typeof operatorOf>,
          random.pick(KINDS_OF_CONNECTIONS),
        )
      }),
      operation('script flush', async () => {
        for (const operator of operators) await operator.script('FLUSH')
      }),
      ...(clock ? [clock.nemesis()] : []),
    ],
    async stop() {
      for (const operator of operators) operator.disconnect()
      await Promise.all(servers.map((server) => server.stop()))
      for (const each of clocks) each?.remove()
    },
  }
}

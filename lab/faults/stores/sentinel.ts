import type { RedisServer } from '../../../scripts/servers/redis.ts'
import { startSentinels } from '../../../scripts/servers/sentinel.ts'
import { TTL_MS } from '../settings.ts'
import { operation, PAUSE_MS } from './process.ts'
import { KINDS_OF_CONNECTIONS, killConnections } from './redis.ts'
import type { StartWorld } from './world.ts'

/** One master, two replicas and three sentinels. */
export const sentinel: StartWorld = async () => {
  const group = await startSentinels()
  const nameOf = (server: RedisServer): string => `server ${group.servers.indexOf(server) + 1}`
  return {
    ports: [...group.ports, ...group.servers.map(({ port }) => port)],
    tells: true,
    urlBy(ports) {
      const sentinels = ports.slice(0, group.ports.length).map((port) => `127.0.0.1:${port}`)
      return `redis+sentinel://${sentinels.join(',')}/${group.service}`
    },
    nemeses: [
      {
        kind: 'server kill',
        lastsMs: [0, 0],
        async strike() {
          const master = await group.master()
          await master.kill()
          await group.untilReplaced(master).catch(() => {})
          return {
            target: `${nameOf(master)}, the master`,
            async heal() {
              await master.start()
              await group.settle()
            },
          }
        },
      },
      {
        kind: 'server pause',
        lastsMs: PAUSE_MS,
        async strike() {
          const master = await group.master()
          process.kill(master.pid, 'SIGSTOP')
          return {
            target: `${nameOf(master)}, the master`,
            async heal() {
              process.kill(master.pid, 'SIGCONT')
              await group.settle()
            },
          }
        },
      },
      {
        kind: 'failover',
        lastsMs: [0, 0],
        async strike() {
          const before = await group.master()
          // One that the sentinels give up has troubled the clients all the same.
          await group.failOver().catch(() => {})
          return { target: nameOf(before), heal: () => group.settle() }
        },
      },
      {
        kind: 'replica kill',
        lastsMs: [0, TTL_MS],
        async strike(random) {
          const replica = random.pick(await group.replicas())
          await replica.kill()
          return {
            target: nameOf(replica),
            async heal() {
              await replica.start()
              await group.settle()
            },
          }
        },
      },
      {
        kind: 'sentinel kill',
        lastsMs: [0, TTL_MS],
        async strike(random) {
          // Not the first: it is the one that is asked.
          const chosen = random.pick(group.sentinels.slice(1))
          await chosen.kill()
          return {
            target: 'one sentinel',
            async heal() {
              await chosen.start()
              await group.settle()
            },
          }
        },
      },
      operation('connections killed', async (random) =>
        killConnections(group.operator(await group.master()), random.pick(KINDS_OF_CONNECTIONS)),
      ),
      operation(
        'script flush',
        async () => void (await group.operator(await group.master()).script('FLUSH')),
      ),
    ],
    stop: () => group.stop(),
  }
}

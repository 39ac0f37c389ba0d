import { type ClusterNode, startCluster } from '../../../scripts/servers/cluster.ts'
import type { Random } from '../../simulation/random.ts'
import { TTL_MS } from '../settings.ts'
import { operation, PAUSE_MS } from './process.ts'
import { KINDS_OF_CONNECTIONS, killConnections } from './redis.ts'
import type { StartWorld } from './world.ts'

/** Three masters with a replica each. */
export const cluster: StartWorld = async () => {
  const nodes = await startCluster(['--appendonly', 'yes'])
  const nameOf = (node: ClusterNode): string => `node ${nodes.nodes.indexOf(node) + 1}`
  const master = async (random: Random): Promise<ClusterNode> => random.pick(await nodes.masters())
  return {
    ports: nodes.ports,
    tells: true,
    urlBy: (ports) => `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    nemeses: [
      {
        kind: 'server kill',
        lastsMs: [0, TTL_MS],
        async strike(random) {
          const node = await master(random)
          await node.server.kill()
          return {
            target: `${nameOf(node)}, a master`,
            async heal() {
              await node.server.start()
              await nodes.settle()
            },
          }
        },
      },
      {
        kind: 'server pause',
        lastsMs: PAUSE_MS,
        async strike(random) {
          const node = await master(random)
          process.kill(node.server.pid, 'SIGSTOP')
          return {
            target: `${nameOf(node)}, a master`,
            async heal() {
              process.kill(node.server.pid, 'SIGCONT')
              await nodes.settle()
            },
          }
        },
      },
      {
        kind: 'failover',
        lastsMs: [0, 0],
        async strike(random) {
          const node = await master(random)
          await nodes.failOver(node)
          return { target: nameOf(node), heal: () => nodes.settle() }
        },
      },
      {
        kind: 'slot moved',
        lastsMs: [0, 0],
        async strike(random) {
          const masters = await nodes.masters()
          const slot = random.whole(0, 16_383)
          await nodes.migrate(slot, random.pick(masters), 5)
          return { target: `slot ${slot}`, heal: () => nodes.settle() }
        },
      },
      operation('connections killed', async (random) =>
        killConnections((await master(random)).operator, random.pick(KINDS_OF_CONNECTIONS)),
      ),
      operation(
        'script flush',
        async (random) => void (await (await master(random)).operator.script('FLUSH')),
      ),
    ],
    stop: () => nodes.stop(),
  }
}

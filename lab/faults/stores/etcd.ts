import { type EtcdMember, startEtcd } from '../../../scripts/servers/etcd.ts'
import type { Random } from '../../simulation/random.ts'
import { TTL_MS } from '../settings.ts'
import { serverKill } from './process.ts'
import type { StartWorld } from './world.ts'

/** Three members that can be parted. */
export const etcd: StartWorld = async () => {
  const cluster = await startEtcd({ parted: true })
  const { members } = cluster
  /** The leader in half of the cases. */
  const choose = async (random: Random): Promise<EtcdMember> =>
    random.chance(500) ? await cluster.leader() : random.pick(members)
  const nameOf = (member: EtcdMember): string => `member ${members.indexOf(member) + 1}`
  return {
    ports: members.map(({ port }) => port),
    urlBy: (ports) => `etcd://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    nemeses: [
      serverKill(async (random) => {
        const member = await choose(random)
        return { name: nameOf(member), kill: () => member.kill(), start: () => member.restart() }
      }),
      {
        ...serverKill(() => ({
          name: 'all',
          kill: async () => void (await Promise.all(members.map((member) => member.kill()))),
          start: () => cluster.start(),
        })),
        kind: 'server restart of all',
      },
      {
        kind: 'server pause',
        lastsMs: [TTL_MS * 0.2, TTL_MS * 1.6],
        async strike(random) {
          const member = await choose(random)
          member.pause()
          return {
            target: nameOf(member),
            async heal() {
              member.resume()
              await cluster.untilReady()
            },
          }
        },
      },
      {
        kind: 'server parted',
        lastsMs: [TTL_MS * 0.3, TTL_MS * 1.6],
        async strike(random) {
          const member = await choose(random)
          await cluster.part(member)
          return {
            target: nameOf(member),
            async heal() {
              cluster.heal()
              await cluster.untilReady()
            },
          }
        },
      },
    ],
    stop: () => cluster.stop(),
  }
}

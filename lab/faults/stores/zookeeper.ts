import { type Member, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import type { Random } from '../../simulation/random.ts'
import { TTL_MS } from '../settings.ts'
import { serverKill } from './process.ts'
import type { StartWorld } from './world.ts'

/** Three servers that can be parted. */
export const zookeeper: StartWorld = async () => {
  const ensemble = await startZooKeeper({ parted: true })
  const { members } = ensemble
  const choose = async (random: Random): Promise<Member> =>
    random.chance(500) ? await ensemble.leader() : random.pick(members)
  const nameOf = (member: Member): string => `member ${members.indexOf(member) + 1}`
  return {
    ports: ensemble.ports,
    urlBy: (ports) => `zookeeper://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    nemeses: [
      serverKill(async (random) => {
        const member = await choose(random)
        const start = async (): Promise<void> => {
          member.start()
          await ensemble.ready()
        }
        return { name: nameOf(member), kill: () => member.kill(), start }
      }),
      {
        ...serverKill(() => ({
          name: 'all',
          kill: async () => void (await Promise.all(members.map((member) => member.kill()))),
          start: () => ensemble.start(),
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
              await ensemble.ready()
            },
          }
        },
      },
      {
        kind: 'server parted',
        lastsMs: [TTL_MS * 0.3, TTL_MS * 1.6],
        async strike(random) {
          const member = await choose(random)
          ensemble.part(member)
          return {
            target: nameOf(member),
            async heal() {
              ensemble.heal()
              await ensemble.ready()
            },
          }
        },
      },
    ],
    stop: () => ensemble.stop(),
  }
}

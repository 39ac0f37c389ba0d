import type { Random } from '../../simulation/random.ts'
import type { Nemesis } from '../nemeses.ts'
import { TTL_MS } from '../settings.ts'
import { PAUSE_MS, serverKill } from './process.ts'
import type { World } from './world.ts'

interface Member {
  readonly port: number
  kill(): Promise<void>
  pause(): void
  resume(): void
}

/** Servers that agree with each other, and that can be parted. */
interface Ensemble<M extends Member> {
  readonly members: readonly M[]
  leader(): Promise<M>
  part(member: M): Promise<void> | void
  heal(): void
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ConsensusOptions<M extends Member> {
  readonly scheme: string
  readonly ensemble: Ensemble<M>
  /** Starts a member that was killed, and waits until it serves. */
  restart(member: M): Promise<void>
  /** Until every member serves. */
  untilReady(): Promise<void>
}

export function consensusWorld<M extends Member>(options: ConsensusOptions<M>): World {
  const { scheme, ensemble, restart, untilReady } = options
  const { members } = ensemble
  /** The leader in half of the cases. */
  const choose = async (random: Random): Promise<M> =>
    random.chance(500) ? await ensemble.leader() : random.pick(members)
  const othersThan = (member: M): M[] => members.filter((each) => each !== member)
  const nameOf = (member: M): string => `member ${members.indexOf(member) + 1}`
  const trouble = (
    kind: string,
    lastsMs: Nemesis['lastsMs'],
    begin: (member: M) => Promise<void> | void,
    end: (member: M) => void,
  ): Nemesis => ({
    kind,
    lastsMs,
    async strike(random) {
      const member = await choose(random)
      await begin(member)
      return {
        target: nameOf(member),
        async heal() {
          end(member)
          await untilReady()
        },
      }
    },
  })
  return {
    ports: members.map(({ port }) => port),
    urlBy: (ports) => `${scheme}://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    nemeses: [
      serverKill(async (random) => {
        const member = await choose(random)
        return { name: nameOf(member), kill: () => member.kill(), start: () => restart(member) }
      }),
      {
        ...serverKill(() => ({
          name: 'all',
          kill: async () => void (await Promise.all(members.map((member) => member.kill()))),
          start: () => ensemble.start(),
        })),
        kind: 'server restart of all',
      },
      trouble(
        'server pause',
        PAUSE_MS,
        (member) => member.pause(),
        (member) => member.resume(),
      ),
      trouble(
        'server pause of most',
        PAUSE_MS,
        (member) => {
          for (const other of othersThan(member)) other.pause()
        },
        (member) => {
          for (const other of othersThan(member)) other.resume()
        },
      ),
      trouble(
        'server parted',
        [TTL_MS * 0.3, TTL_MS * 1.6],
        (member) => ensemble.part(member),
        () => ensemble.heal(),
      ),
    ],
    stop: () => ensemble.stop(),
  }
}

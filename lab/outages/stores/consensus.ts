import { type EtcdCluster, startEtcd } from '../../../scripts/servers/etcd.ts'
import { startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { all, networkFaults, roadsTo } from '../faults.ts'
import { RESTART_MS } from '../settings.ts'
import { type Fault, type World, worldOf } from '../world.ts'
import { hostsOf } from './redis.ts'

interface Member {
  readonly port: number
  pause(): void
  resume(): void
  kill(): Promise<void>
}

interface Ensemble<M extends Member> {
  readonly members: readonly M[]
  leader(): Promise<M>
  start(): Promise<void>
  stop(): Promise<void>
}

export async function etcd(): Promise<World> {
  const cluster = await startEtcd()
  return consensus('etcd', cluster, () => cluster.untilReady(), { faults: [full(cluster)] })
}

export async function zookeeper(): Promise<World> {
  const ensemble = await startZooKeeper()
  return consensus('zookeeper', ensemble, () => ensemble.ready(), {
    faults: [],
    notTried: { full: 'needs a disk of its own' },
  })
}

async function consensus<M extends Member>(
  scheme: string,
  ensemble: Ensemble<M>,
  settle: () => Promise<void>,
  rest: Pick<World, 'faults' | 'notTried'>,
): Promise<World> {
  const { members } = ensemble
  const roads = await roadsTo(members.map(({ port }) => port))
  return worldOf(`${scheme}://${hostsOf(roads.map(({ port }) => port))}`, {
    ...rest,
    faults: [
      frozen('frozen', () => members),
      {
        name: 'restarted',
        lastsMs: RESTART_MS,
        start: () => all(members, (member) => member.kill()),
        heal: () => ensemble.start(),
      },
      { ...frozen('one server frozen', async () => [await ensemble.leader()]), stays: true },
      ...networkFaults(roads),
      ...rest.faults,
    ],
    settle,
    async stop() {
      for (const road of roads) road.close()
      await ensemble.stop()
    },
  })
}

function frozen(name: string, choose: () => Promise<readonly Member[]> | readonly Member[]): Fault {
  let paused: Member[] = []
  return {
    name,
    async start() {
      paused = [...(await choose())]
      for (const member of paused) member.pause()
    },
    heal() {
      for (const member of paused.splice(0)) member.resume()
    },
  }
}

/** The alarm that members raise when the quota of their database is used up. */
function full(cluster: EtcdCluster): Fault {
  const alarm = async (action: 'ACTIVATE' | 'DEACTIVATE'): Promise<void> => {
    const [member] = cluster.members
    const memberID = BigInt(`0x${await member?.id()}`).toString()
    const body = JSON.stringify({ action, memberID, alarm: 'NOSPACE' })
    const answer = await fetch(`http://127.0.0.1:${member?.port}/v3/maintenance/alarm`, {
      method: 'POST',
      body,
    })
    if (!answer.ok) throw new Error(`etcd refuses an alarm: ${await answer.text()}`)
  }
  return { name: 'full', start: () => alarm('ACTIVATE'), heal: () => alarm('DEACTIVATE') }
}

import { startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { consensusWorld } from './consensus.ts'
import type { StartWorld } from './world.ts'

/** Three servers. */
export const zookeeper: StartWorld = async () => {
  const ensemble = await startZooKeeper({ parted: true })
  return consensusWorld({
    scheme: 'zookeeper',
    ensemble,
    async restart(member) {
      member.start()
      await ensemble.ready()
    },
    untilReady: () => ensemble.ready(),
  })
}

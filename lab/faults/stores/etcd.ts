import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { consensusWorld } from './consensus.ts'
import type { StartWorld } from './world.ts'

/** Three members. */
export const etcd: StartWorld = async () => {
  const ensemble = await startEtcd({ parted: true })
  return consensusWorld({
    scheme: 'etcd',
    ensemble,
    restart: (member) => member.restart(),
    untilReady: () => ensemble.untilReady(),
  })
}

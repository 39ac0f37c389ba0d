import { conformanceCases } from 'holdfast/testing'
import { zookeeper } from 'holdfast/zookeeper'
import { afterAll, describe, test } from 'vitest'
import { startZooKeeper } from '../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../src/core/runtime.ts'
import type { ZooKeeperStore } from '../../src/stores/zookeeper/store.ts'
import { conform } from './conform.ts'

const ensemble = await startZooKeeper()
afterAll(() => ensemble.stop())

// Stores with the same runtime share their sessions; here, each is a process of its own.
const open = () => zookeeper(`zookeeper://${ensemble.hosts}`, { runtime: { ...nodeRuntime } })
const DISTURBED = 'renewal and release survive what servers go through'

conform({
  name: 'zookeeper',
  open,
  faults: { disconnect: (store) => (store as ZooKeeperStore).context.sessions.disconnect() },
  skips: [
    { topic: 'renewal', case: DISTURBED, reason: 'runs below: a new leader would disturb the other cases' },
  ],
})

describe('zookeeper with a new leader', () => {
  const disturb = async () => {
    const leader = await ensemble.leader()
    await leader.kill()
    await ensemble.leader()
    leader.start()
    await ensemble.ready()
  }
  for (const { name, run } of conformanceCases({ name: 'zookeeper', open, faults: { disturb } }))
    if (name === DISTURBED) test(name, run)
})

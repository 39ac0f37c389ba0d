import type { Store } from 'holdfast'
import { afterAll } from 'vitest'
import { startCluster } from '../../scripts/servers/cluster.ts'
import { conform } from './conform.ts'
import { CLUSTER_CLIENTS, cutEverywhere, everywhere, openClusterStore } from './redis/cluster-clients.ts'

const cluster = await startCluster()
afterAll(() => cluster.stop())

for (const name of ['ioredis 5', 'redis 6'] as const) {
  const bring = CLUSTER_CLIENTS[name]
  const names = new WeakMap<Store, string>()
  conform({
    name: `redis cluster with ${name}`,
    open: async () => {
      const opened = await openClusterStore(bring, cluster)
      names.set(opened.store, opened.name)
      return opened.store
    },
    faults: {
      disconnect: (store) => cutEverywhere(cluster, names.get(store) as string),
      disturb: async () => void (await everywhere(cluster, (operator) => operator.script('FLUSH'))),
    },
  })
}

import type { Store } from 'holdfast'
import { afterAll } from 'vitest'
import { startSentinels } from '../../scripts/servers/sentinel.ts'
import { conform } from './conform.ts'
import { cutServers, openSentinelStore, SENTINEL_CLIENTS, shareable } from './redis/sentinel-clients.ts'

const group = await startSentinels()
const nodeRedis = await shareable('redis 6', group)
afterAll(async () => {
  await nodeRedis.close()
  await group.stop()
})

const CLIENTS = { 'ioredis 5': SENTINEL_CLIENTS['ioredis 5'], 'redis 6': nodeRedis.bring }

for (const [name, bring] of Object.entries(CLIENTS)) {
  const names = new WeakMap<Store, string>()
  conform({
    name: `redis sentinel with ${name}`,
    open: async () => {
      const opened = await openSentinelStore(bring, group)
      names.set(opened.store, opened.name)
      return opened.store
    },
    faults: {
      disconnect: (store) => cutServers(group, names.get(store) as string),
      disturb: async () => {
        const master = await group.master()
        await group.operator(master).script('FLUSH')
      },
    },
  })
}

import type { Store } from 'holdfast'
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { conform } from './conform.ts'
import { CLIENTS, cut, openStore } from './redis/clients.ts'

const server = await startRedis()
const operator = new Redis(server.port)
afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

for (const library of ['ioredis 5', 'redis 6']) {
  const bring = CLIENTS[library] as (typeof CLIENTS)[string]
  const names = new WeakMap<Store, string>()
  conform({
    name: `plain redis with ${library}`,
    open: async () => {
      const opened = await openStore(bring, server.port, { format: 'plain' })
      names.set(opened.store, opened.name)
      return opened.store
    },
    faults: {
      disconnect: (store) => cut(operator, names.get(store) as string),
      disturb: async () => void (await operator.script('FLUSH')),
    },
  })
}

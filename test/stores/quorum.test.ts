import type { Store } from 'holdfast'
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { conform } from './conform.ts'
import { openQuorum } from './quorum/open.ts'
import { CLIENTS, cut } from './redis/clients.ts'

const servers = await Promise.all(Array.from({ length: 5 }, () => startRedis()))
const operators = servers.map(({ port }) => new Redis(port))
afterAll(async () => {
  for (const operator of operators) operator.disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

/** Three servers with one client library, five with another. */
for (const [nodes, client] of [
  [3, 'ioredis 5'],
  [5, 'redis 6'],
] as const) {
  const names = new WeakMap<Store, string>()
  const ports = servers.slice(0, nodes).map(({ port }) => port)
  conform({
    name: `quorum of ${nodes} with ${client}`,
    open: async () => {
      const opened = await openQuorum(CLIENTS[client] as (typeof CLIENTS)[string], ports)
      names.set(opened.store, opened.name)
      return opened.store
    },
    faults: {
      disconnect: async (store) => {
        for (const operator of operators) await cut(operator, names.get(store) as string)
      },
      disturb: async () => {
        for (const operator of operators) await operator.script('FLUSH')
      },
    },
  })
}

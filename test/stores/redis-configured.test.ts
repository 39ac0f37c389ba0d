import type { Store } from 'holdfast'
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { conform } from './conform.ts'
import { openQuorum } from './quorum/open.ts'
import { cut, openStore } from './redis/clients.ts'
import { CONFIGURED_CLIENTS } from './redis/configured-clients.ts'

const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
const operators = servers.map(({ port }) => new Redis(port))
const ports = servers.map(({ port }) => port)
const [port] = ports as [number, number, number]
afterAll(async () => {
  for (const operator of operators) operator.disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

function conformed(name: string, open: () => Promise<{ store: Store; name: string }>): void {
  const names = new WeakMap<Store, string>()
  conform({
    name,
    open: async () => {
      const opened = await open()
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

for (const [client, bring] of Object.entries(CONFIGURED_CLIENTS))
  conformed(`redis with ${client}`, () => openStore(bring, port))

for (const client of ['ioredis 5, numbers as texts', 'redis 6, by withTypeMapping']) {
  const bring = CONFIGURED_CLIENTS[client] as (typeof CONFIGURED_CLIENTS)[string]
  conformed(`plain redis with ${client}`, () => openStore(bring, port, { format: 'plain' }))
  conformed(`quorum with ${client}`, () => openQuorum(bring, ports))
}

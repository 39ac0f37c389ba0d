import type { Store } from 'holdfast'
import pg from 'pg'
import { afterAll } from 'vitest'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { conform } from './conform.ts'
import { CLIENTS, cut, openStore } from './postgres/clients.ts'

// Many cases run at once, each with stores over pools of their own.
const server = await startPostgres({ settings: ['max_connections=300'] })
const operator = new pg.Pool({ connectionString: server.url, max: 1 })
afterAll(async () => {
  await operator.end()
  await server.stop()
})

for (const [name, bring] of Object.entries(CLIENTS)) {
  const names = new WeakMap<Store, string>()
  conform({
    name: `postgres with ${name}`,
    open: async () => {
      const opened = await openStore(bring, server.url)
      names.set(opened.store, opened.name)
      return opened.store
    },
    faults: { disconnect: (store) => cut(operator, names.get(store) as string) },
  })
}

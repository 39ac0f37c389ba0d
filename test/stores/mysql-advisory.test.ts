import type { Store } from 'holdfast'
import mysql from 'mysql2/promise'
import { afterAll } from 'vitest'
import { startMariadb } from '../../scripts/servers/mariadb.ts'
import { conform } from './conform.ts'
import { CLIENTS, openStore, Users } from './mysql/clients.ts'

const server = await startMariadb()
const operator = mysql.createPool({ uri: server.url, connectionLimit: 1 })
const users = new Users(server.url, operator)
afterAll(async () => {
  await operator.end()
  await server.stop()
})

for (const [name, bring] of Object.entries(CLIENTS)) {
  const owners = new WeakMap<Store, string>()
  conform({
    name: `mariadb advisory with ${name}`,
    open: async () => {
      const { user, url } = await users.make()
      const store = openStore(bring, url, { advisory: true })
      owners.set(store, user)
      // Connected, as one that was opened by a URL is.
      await store.admin.read('')
      return store
    },
    faults: { disconnect: (store) => users.cut(owners.get(store) as string) },
  })
}

import mysql from 'mysql2/promise'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { survive } from '../sql/faults.ts'
import { CLIENTS, openStore } from './clients.ts'

survive(Object.keys(CLIENTS), 2, async () => {
  const server = await startMariadb()
  /** A connection of its own each time: the server comes and goes. */
  const ask = async (work: (operator: mysql.Connection) => Promise<unknown>) => {
    const operator = await mysql.createConnection(server.url)
    operator.on('error', () => {})
    try {
      return await work(operator)
    } finally {
      operator.destroy()
    }
  }
  const others = async (operator: mysql.Connection): Promise<number[]> => {
    const list =
      'SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db IS NOT NULL'
    const [rows] = await operator.query(list)
    return (rows as { id: number }[]).map(({ id }) => id)
  }
  return {
    url: server.url,
    open: async (client) => {
      const store = openStore(CLIENTS[client] as (typeof CLIENTS)[string], server.url)
      await store.admin.read('')
      return store
    },
    cut: async (chance) => {
      await ask(async (operator) => {
        for (const id of await others(operator))
          if (Math.random() < chance) await operator.query(`KILL ${id}`).catch(() => {})
      })
    },
    connections: async () => Number(await ask(async (operator) => (await others(operator)).length)),
    kill: () => server.kill(),
    shutDown: () => server.shutDown(),
    start: () => server.start(),
    close: () => server.stop(),
  }
})

import pg from 'pg'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { survive } from '../sql/faults.ts'
import { CLIENTS, openStore } from './clients.ts'

const OURS = `application_name LIKE 'test-%' OR application_name = 'holdfast'`

// Two connections of the pool, and one that listens.
survive(Object.keys(CLIENTS), 3, async () => {
  const server = await startPostgres()
  /** A connection of its own each time: the server comes and goes. */
  const ask = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: server.url, application_name: 'operator' })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }
  return {
    url: server.url,
    open: async (client) => (await openStore(CLIENTS[client] as (typeof CLIENTS)[string], server.url)).store,
    cut: async (chance) => {
      const cut = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
      await ask(`${cut} WHERE (${OURS}) AND random() < $1`, [chance])
    },
    connections: async () => {
      const [row] = await ask(`SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${OURS}`)
      return row.count
    },
    kill: () => server.kill(),
    shutDown: () => server.shutDown(),
    start: () => server.start(),
    close: () => server.stop(),
  }
})

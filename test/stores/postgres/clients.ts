import type { Store } from 'holdfast'
import { type AnyPostgresClient, type PostgresOptions, postgres } from 'holdfast/postgres'
import pg from 'pg'
import postgresJs from 'postgres'

/** A client as a user would make it, with the way to close it. */
interface Brought {
  readonly client: AnyPostgresClient
  close(): Promise<unknown>
}

type Bring = (url: string, name: string) => Brought

/** The clients that the store is tested with. Every connection of a client bears its name. */
export const CLIENTS: Record<string, Bring> = {
  pg: (connectionString, application_name) => {
    const pool = new pg.Pool({ connectionString, application_name, max: 2 })
    return { client: pool, close: () => pool.end() }
  },
  postgres: (url, application_name) => {
    const sql = postgresJs(url, { connection: { application_name }, max: 2 })
    return { client: sql, close: () => sql.end({ timeout: 1 }) }
  },
}

let names = 0

/** A store over a client of its own, which is closed with it; `name` tells its connections from others. */
export async function openStore(
  bring: Bring,
  url: string,
  options: PostgresOptions = {},
): Promise<{ store: Store; name: string }> {
  const name = `test-${++names}`
  const { client, close } = bring(url, name)
  const store = postgres(client, options)
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    await close()
  }
  // Connected and prepared, as one that was opened by a URL is.
  await store.admin.read('')
  return { store, name }
}

/** Cuts every connection of that name, as a reset of the network would. */
export async function cut(operator: pg.Pool, name: string): Promise<void> {
  await operator.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
    name,
  ])
}

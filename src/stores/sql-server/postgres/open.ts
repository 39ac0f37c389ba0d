import { clientMissing, optionalPeer } from '../../../core/optional-peer.ts'
import type { Store } from '../../../core/store.ts'
import { migrated, prepared, timeoutOf } from '../opening.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { shareByUrl } from '../tables/shared-store.ts'
import type { ServerStore } from '../tables/store.ts'
import type { PostgresClient } from './clients/client.ts'
import { PgClient, type PgPool } from './clients/pg.ts'
import { type PostgresJs, PostgresJsClient } from './clients/postgres.ts'
import { advisoryOver, storeOver } from './create.ts'
import { type Location, locationOf } from './url.ts'

/** A store over connections of its own: `postgres://user:password@host:5432/database`. */
export async function openPostgres(url: string, callTimeoutMs?: number): Promise<Store> {
  const location = locationOf(url)
  const { database, connections, options } = location
  if (!options.advisory) return shareByUrl(url, callTimeoutMs, () => openTables(location, callTimeoutMs))
  const timeout = timeoutOf(callTimeoutMs)
  const client = await openClient(database, connections, timeout)
  return prepared(advisoryOver(client, options, timeout), serverOf(database))
}

export async function migratePostgres(url: string): Promise<boolean> {
  const { database, connections, options } = locationOf(url)
  const timeout = timeoutOf()
  const client = await openClient(database, connections, timeout)
  return migrated(storeOver(client, null, options, timeout), serverOf(database))
}

async function openTables(location: Location, callTimeoutMs: number | undefined): Promise<ServerStore> {
  const { database, listen, options, connections } = location
  const timeout = timeoutOf(callTimeoutMs)
  const client = await openClient(database, connections, timeout)
  const listener = listen === null ? client : listen === false ? null : await openClient(listen, 1, timeout)
  return prepared(storeOver(client, listener, options, timeout), serverOf(database))
}

async function openClient(url: string, most: number, timeout: StatementTimeout): Promise<PostgresClient> {
  const client = (await openPg(url, most, timeout)) ?? (await openPostgresJs(url, most, timeout))
  if (client !== null) return client
  throw clientMissing('postgres', ['pg', 'postgres'], 'postgres() of holdfast/postgres')
}

async function openPg(url: string, most: number, timeout: StatementTimeout): Promise<PostgresClient | null> {
  const library = await optionalPeer<typeof import('pg')>('pg')
  if (library === null) return null
  const pool = new library.default.Pool({
    connectionString: url,
    application_name: 'holdfast',
    keepAlive: true,
    allowExitOnIdle: true,
    max: most,
  })
  return new PgClient(pool as unknown as PgPool, true, timeout)
}

async function openPostgresJs(
  url: string,
  most: number,
  timeout: StatementTimeout,
): Promise<PostgresClient | null> {
  const library = await optionalPeer<{ default: typeof import('postgres') }>('postgres')
  if (library === null) return null
  const sql = library.default(url, {
    max: most,
    connection: { application_name: 'holdfast' },
  })
  return new PostgresJsClient(sql as unknown as PostgresJs, timeout)
}

/** The server, the database and the user, which an authentication failure is about; without the password. */
function serverOf(url: string): string {
  const { username, hostname, port, pathname } = new URL(url)
  const user = username === '' ? '' : `, as the user ${decodeURIComponent(username)},`
  return `PostgreSQL at ${hostname}:${port || 5432}${pathname}${user}`
}

import { clientMissing, optionalPeer } from '../../../core/optional-peer.ts'
import { nodeRuntime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { LockError, unreachable } from '../../../errors.ts'
import type { AdvisoryStore } from '../advisory/store.ts'
import { StatementTimeout } from '../statement-timeout.ts'
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
  if (!location.options.advisory)
    return shareByUrl(url, callTimeoutMs, () => openTables(location, callTimeoutMs))
  const timeout = patienceOf(callTimeoutMs)
  const store = advisoryOver(
    await openClient(location.database, location.connections, timeout),
    location.options,
    timeout,
  )
  return prepared(store, location.database)
}

/** Makes the tables, or changes those of format 1. Resolves to whether there was anything to do. */
export async function migratePostgres(url: string): Promise<boolean> {
  const location = locationOf(url)
  const timeout = patienceOf(undefined)
  const client = await openClient(location.database, location.connections, timeout)
  const store = storeOver(client, null, location.options, timeout)
  try {
    const upgraded = await store.upgrade()
    await store.prepare()
    return upgraded || store.madeTables
  } catch (error) {
    throw error instanceof LockError ? error : unreachable(serverOf(location.database), error)
  } finally {
    await store.close()
  }
}

async function openTables(location: Location, callTimeoutMs: number | undefined): Promise<ServerStore> {
  const { database, listen, options, connections } = location
  const timeout = patienceOf(callTimeoutMs)
  const client = await openClient(database, connections, timeout)
  const listener = listen === null ? client : listen === false ? null : await openClient(listen, 1, timeout)
  return prepared(storeOver(client, listener, options, timeout), database)
}

function patienceOf(callTimeoutMs: number | undefined): StatementTimeout {
  const timeout = new StatementTimeout(nodeRuntime)
  if (callTimeoutMs !== undefined) timeout.allow(callTimeoutMs)
  return timeout
}

async function prepared<S extends AdvisoryStore | ServerStore>(store: S, database: string): Promise<S> {
  try {
    await store.prepare()
  } catch (error) {
    await store.close()
    throw error instanceof LockError ? error : unreachable(serverOf(database), error)
  }
  return store
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

/** Who asks for which database: an authentication failure is about that. The password is left out. */
function serverOf(url: string): string {
  const { username, hostname, port, pathname } = new URL(url)
  const user = username === '' ? '' : `, as the user ${decodeURIComponent(username)},`
  return `PostgreSQL at ${hostname}:${port || 5432}${pathname}${user}`
}

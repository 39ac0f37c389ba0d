import type { Store } from '../../../core/store.ts'
import { LockError, StoreError, UnsupportedError } from '../../../errors.ts'
import type { PostgresClient } from './clients/client.ts'
import { PgClient, type PgPool } from './clients/pg.ts'
import { type PostgresJs, PostgresJsClient } from './clients/postgres.ts'
import { advisoryOver, storeOver } from './index.ts'
import { locationOf } from './url.ts'

/** A server that does not answer within this cannot be reached. */
const CONNECT_MS = 5000

/** A store over connections of its own: `postgres://user:password@host:5432/database`. */
export async function openPostgres(url: string): Promise<Store> {
  const { database, listen, options } = locationOf(url)
  const client = await openClient(database)
  const listener = listen === null ? client : listen === false ? null : await openClient(listen)
  const store = options.advisory ? advisoryOver(client, options) : storeOver(client, listener, options)
  try {
    await store.prepare()
  } catch (error) {
    await store.close()
    throw error instanceof LockError ? error : unreachable(database, error)
  }
  return store
}

async function openClient(url: string): Promise<PostgresClient> {
  const client = (await openPg(url)) ?? (await openPostgresJs(url))
  if (client !== null) return client
  throw new UnsupportedError('postgres:// needs a client library: npm install pg, or npm install postgres')
}

async function openPg(url: string): Promise<PostgresClient | null> {
  const library = await optional(() => import('pg'))
  if (library === null) return null
  const pool = new library.default.Pool({
    connectionString: url,
    application_name: 'holdfast',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
  })
  return new PgClient(pool as unknown as PgPool, true)
}

async function openPostgresJs(url: string): Promise<PostgresClient | null> {
  const library = await optional(() => import('postgres'))
  if (library === null) return null
  const sql = library.default(url, {
    connection: { application_name: 'holdfast' },
    connect_timeout: CONNECT_MS / 1000,
  })
  return new PostgresJsClient(sql as unknown as PostgresJs)
}

/** Null when the library is not installed; any other failure to load it is the user's to see. */
async function optional<T>(load: () => Promise<T>): Promise<T | null> {
  try {
    return await load()
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}

/** The URL may hold a password, so only its host is named. */
function unreachable(url: string, cause: unknown): StoreError {
  const why = cause instanceof Error ? cause.message || cause.name : String(cause)
  return new StoreError(`PostgreSQL at ${new URL(url).host} cannot be reached: ${why}`, { cause })
}

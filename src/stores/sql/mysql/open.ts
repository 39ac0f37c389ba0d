import type { Store } from '../../../core/store.ts'
import { InvalidArgumentError, LockError, StoreError, UnsupportedError } from '../../../errors.ts'
import type { MysqlClient } from './clients/client.ts'
import { mysql2PoolOf } from './clients/detect.ts'
import { MariadbClient, type MariadbPool } from './clients/mariadb.ts'
import { Mysql2Client } from './clients/mysql2.ts'
import { advisoryOver, type MysqlOptions, storeOver } from './index.ts'

/** A server that does not answer within this cannot be reached. */
const CONNECT_MS = 5000
const CONNECTIONS = 10

interface Location {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

/** A store over connections of its own: `mysql://user:password@host:3306/database`. */
export async function openMysql(url: string): Promise<Store> {
  const { location, options } = locationOf(url)
  const client = (await openMysql2(location)) ?? (await openMariadb(location))
  if (client === null) {
    throw new UnsupportedError('mysql:// needs a client library: npm install mysql2, or npm install mariadb')
  }
  const store = options.advisory ? advisoryOver(client, options) : storeOver(client, options)
  try {
    await store.prepare()
  } catch (error) {
    await store.close()
    throw error instanceof LockError ? error : unreachable(location, error)
  }
  return store
}

async function openMysql2(location: Location): Promise<MysqlClient | null> {
  const library = await optional(() => import('mysql2/promise'))
  if (library === null) return null
  const bounds = { connectionLimit: CONNECTIONS, connectTimeout: CONNECT_MS, enableKeepAlive: true }
  return new Mysql2Client(mysql2PoolOf(library.createPool({ ...location, ...bounds })), true)
}

async function openMariadb(location: Location): Promise<MysqlClient | null> {
  const library = await optional(() => import('mariadb'))
  if (library === null) return null
  const bounds = { connectionLimit: CONNECTIONS, connectTimeout: CONNECT_MS, acquireTimeout: CONNECT_MS }
  const pool = library.createPool({ ...location, ...bounds, keepAliveDelay: 1000, minimumIdle: 0 })
  return new MariadbClient(pool as unknown as MariadbPool, true)
}

function locationOf(url: string): { location: Location; options: Pick<MysqlOptions, 'table' | 'advisory'> } {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new InvalidArgumentError('url', 'must be like mysql://user:password@host:3306/database')
  }
  if (parts.hostname === '') throw new InvalidArgumentError('url', 'names no host')
  const database = decodeURIComponent(parts.pathname.slice(1))
  if (database === '' || database.includes('/'))
    throw new InvalidArgumentError('url', 'must end with the name of a database, such as /locks')
  for (const name of parts.searchParams.keys())
    if (name !== 'table' && name !== 'advisory')
      throw new InvalidArgumentError(
        'url',
        `has an unknown setting ${JSON.stringify(name)}: only table and advisory are known`,
      )
  const table = parts.searchParams.get('table')
  const advisory = parts.searchParams.get('advisory')
  if (advisory !== null && advisory !== 'true' && advisory !== 'false')
    throw new InvalidArgumentError('url', 'must give as advisory true or false')
  return {
    location: {
      host: parts.hostname.replace(/^\[|\]$/g, ''),
      port: parts.port === '' ? 3306 : Number(parts.port),
      user: decodeURIComponent(parts.username),
      password: decodeURIComponent(parts.password),
      database,
    },
    options: {
      ...(table === null ? {} : { table }),
      ...(advisory === null ? {} : { advisory: advisory === 'true' }),
    },
  }
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

function unreachable({ host, port }: Location, cause: unknown): StoreError {
  const why = cause instanceof Error ? cause.message || cause.name : String(cause)
  return new StoreError(`MySQL at ${host}:${port} cannot be reached: ${why}`, { cause })
}

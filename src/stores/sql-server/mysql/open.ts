import { clientMissing, optionalPeer } from '../../../core/optional-peer.ts'
import { parametersOf } from '../../../core/parameters.ts'
import { nodeRuntime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { InvalidArgumentError, LockError, unreachable } from '../../../errors.ts'
import type { AdvisoryStore } from '../advisory/store.ts'
import { StatementTimeout } from '../statement-timeout.ts'
import { connectionsOf } from '../tables/connections.ts'
import { shareByUrl } from '../tables/shared-store.ts'
import type { ServerStore } from '../tables/store.ts'
import type { MysqlClient } from './clients/client.ts'
import { mysql2PoolOf } from './clients/detect.ts'
import { MariadbClient, type MariadbPool } from './clients/mariadb.ts'
import { Mysql2Client } from './clients/mysql2.ts'
import { advisoryOver, storeOver } from './create.ts'
import type { MysqlOptions } from './index.ts'

const PARAMETERS = { connections: true, table: true, advisory: true } as const

interface Location {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

interface Place {
  readonly location: Location
  readonly connections: number
  readonly options: Pick<MysqlOptions, 'table' | 'advisory'>
}

/** A store over connections of its own: `mysql://user:password@host:3306/database`. */
export async function openMysql(url: string, callTimeoutMs?: number): Promise<Store> {
  const place = locationOf(url)
  const timeout = new StatementTimeout(nodeRuntime)
  if (callTimeoutMs !== undefined) timeout.allow(callTimeoutMs)
  if (place.options.advisory)
    return prepared(advisoryOver(await openClient(place, timeout), place.options, timeout), place)
  return shareByUrl(url, callTimeoutMs, async () =>
    prepared(storeOver(await openClient(place, timeout), place.options, timeout), place),
  )
}

/** Makes the tables, or changes those of format 1. Resolves to whether there was anything to do. */
export async function migrateMysql(url: string): Promise<boolean> {
  const place = locationOf(url)
  const timeout = new StatementTimeout(nodeRuntime)
  const store = storeOver(await openClient(place, timeout), place.options, timeout)
  try {
    const upgraded = await store.upgrade()
    await store.prepare()
    return upgraded || store.madeTables
  } catch (error) {
    throw error instanceof LockError ? error : unreachableAt(place, error)
  } finally {
    await store.close()
  }
}

async function openClient(place: Place, timeout: StatementTimeout): Promise<MysqlClient> {
  const client = (await openMysql2(place, timeout)) ?? (await openMariadb(place, timeout))
  if (client === null) throw clientMissing('mysql', ['mysql2', 'mariadb'], 'mysql() of holdfast/mysql')
  return client
}

async function prepared<S extends AdvisoryStore | ServerStore>(store: S, place: Place): Promise<S> {
  try {
    await store.prepare()
  } catch (error) {
    await store.close()
    throw error instanceof LockError ? error : unreachableAt(place, error)
  }
  return store
}

function unreachableAt({ location }: Place, error: unknown): LockError {
  return unreachable(`MySQL at ${location.host}:${location.port}`, error)
}

async function openMysql2(
  { location, connections }: Place,
  timeout: StatementTimeout,
): Promise<MysqlClient | null> {
  const library = await optionalPeer<typeof import('mysql2/promise')>('mysql2/promise')
  if (library === null) return null
  const bounds = { connectionLimit: connections, enableKeepAlive: true }
  return new Mysql2Client(mysql2PoolOf(library.createPool({ ...location, ...bounds })), true, timeout)
}

async function openMariadb(
  { location, connections }: Place,
  timeout: StatementTimeout,
): Promise<MysqlClient | null> {
  const library = await optionalPeer<typeof import('mariadb')>('mariadb')
  if (library === null) return null
  const bounds = { connectionLimit: connections, connectTimeout: timeout.ms, acquireTimeout: timeout.ms }
  const pool = library.createPool({ ...location, ...bounds, keepAliveDelay: 1000, minimumIdle: 0 })
  return new MariadbClient(pool as unknown as MariadbPool, true, timeout)
}

function locationOf(url: string): Place {
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
  const { table, advisory, connections } = parametersOf(parts.search, PARAMETERS)
  if (advisory !== undefined && advisory !== 'true' && advisory !== 'false')
    throw new InvalidArgumentError('url', 'must give as advisory true or false')
  return {
    location: {
      host: parts.hostname.replace(/^\[|\]$/g, ''),
      port: parts.port === '' ? 3306 : Number(parts.port),
      user: decodeURIComponent(parts.username),
      password: decodeURIComponent(parts.password),
      database,
    },
    connections: connectionsOf(connections),
    options: {
      ...(table !== undefined && { table }),
      ...(advisory !== undefined && { advisory: advisory === 'true' }),
    },
  }
}

import { clientMissing, optionalPeer } from '../../../core/optional-peer.ts'
import type { Store } from '../../../core/store.ts'
import { migrated, prepared, timeoutOf } from '../opening.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { shareByUrl } from '../tables/shared-store.ts'
import type { MysqlClient } from './clients/client.ts'
import { MariadbClient, type MariadbPool } from './clients/mariadb.ts'
import { Mysql2Client, mysql2PoolOf } from './clients/mysql2.ts'
import { advisoryOver, storeOver } from './create.ts'
import { type Location, locationOf } from './url.ts'

/** A store over connections of its own: `mysql://user:password@host:3306/database`. */
export async function openMysql(url: string, callTimeoutMs?: number): Promise<Store> {
  const location = locationOf(url)
  const { options } = location
  const timeout = timeoutOf(callTimeoutMs)
  if (options.advisory)
    return prepared(advisoryOver(await openClient(location, timeout), options, timeout), serverOf(location))
  return shareByUrl(url, callTimeoutMs, async () =>
    prepared(storeOver(await openClient(location, timeout), options, timeout), serverOf(location)),
  )
}

export async function migrateMysql(url: string): Promise<boolean> {
  const location = locationOf(url)
  const timeout = timeoutOf()
  const store = storeOver(await openClient(location, timeout), location.options, timeout)
  return migrated(store, serverOf(location))
}

function serverOf({ database: { host, port } }: Location): string {
  return `MySQL at ${host}:${port}`
}

async function openClient(location: Location, timeout: StatementTimeout): Promise<MysqlClient> {
  const client = (await openMysql2(location, timeout)) ?? (await openMariadb(location, timeout))
  if (client === null) throw clientMissing('mysql', ['mysql2', 'mariadb'], 'mysql() of holdfast/mysql')
  return client
}

async function openMysql2(
  { database, connections }: Location,
  timeout: StatementTimeout,
): Promise<MysqlClient | null> {
  const library = await optionalPeer<typeof import('mysql2/promise')>('mysql2/promise')
  if (library === null) return null
  const bounds = { connectionLimit: connections, enableKeepAlive: true }
  return new Mysql2Client(mysql2PoolOf(library.createPool({ ...database, ...bounds })), true, timeout)
}

async function openMariadb(
  { database, connections }: Location,
  timeout: StatementTimeout,
): Promise<MysqlClient | null> {
  const library = await optionalPeer<typeof import('mariadb')>('mariadb')
  if (library === null) return null
  const bounds = { connectionLimit: connections, connectTimeout: timeout.ms, acquireTimeout: timeout.ms }
  const pool = library.createPool({ ...database, ...bounds, keepAliveDelay: 1000, minimumIdle: 0 })
  return new MariadbClient(pool as unknown as MariadbPool, true, timeout)
}

import { checkFlag, checkOptions, checkRuntime, type NamesOf } from '../../../core/check.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { StatementTimeout } from '../statement-timeout.ts'
import { tableNames } from '../tables/names.ts'
import { shareByPool } from '../tables/shared-store.ts'
import type { MysqlClient } from './clients/client.ts'
import { MariadbClient, type MariadbPool } from './clients/mariadb.ts'
import { Mysql2Client, mysql2PoolOf, notAPool } from './clients/mysql2.ts'

import { advisoryOver, storeOver } from './create.ts'
import { schemaOf } from './schema.ts'

type Method = (...args: never[]) => unknown

/** A pool of `mysql2`, with promises or without, or of `mariadb`, recognized by its shape. */
export type AnyMysqlClient =
  | { readonly getConnection: Method; readonly execute: Method; readonly query: Method }
  | { readonly getConnection: Method; readonly promise: Method; readonly query: Method }
  | { readonly getConnection: Method; readonly totalConnections: Method; readonly query: Method }

export interface MysqlOptions {
  /** The prefix of the table names, optionally after a database and a dot. By default `'holdfast'`. */
  readonly table?: string
  /**
   * Uses locks that a session of the server holds (`GET_LOCK`), on one connection that is taken out of the pool, instead of leases in a
   * table: nothing is written, and every lock ends with that connection. By default false.
   */
  readonly advisory?: boolean
  readonly runtime?: Runtime
}

const OPTIONS: NamesOf<MysqlOptions> = { table: true, advisory: true, runtime: true }

/**
 * A store in a MariaDB or MySQL database, through the pool you already have, of `mysql2` or of `mariadb`. You remain its owner. All
 * stores over one pool with the same options poll for their waiters together.
 *
 * Throws an `InvalidArgumentError` for anything else, and for options outside their limits.
 */
export function mysql(client: AnyMysqlClient, options: MysqlOptions = {}): Store {
  const { advisory, table, runtime } = checkOptions('options', options, OPTIONS)
  const timeout = new StatementTimeout(checkRuntime(runtime))
  return checkFlag('advisory', advisory, false)
    ? advisoryOver(adapterOf(client, timeout), options, timeout)
    : shareByPool(client, [table, runtime], () => storeOver(adapterOf(client, timeout), options, timeout))
}

/** The statements that create the tables, for your own migration. Throws an `InvalidArgumentError` for an invalid name. */
export function migration(table = 'holdfast'): string {
  return schemaOf(tableNames(table, '`'))
    .map((statement) => `${statement};\n`)
    .join('')
}

/** The adapter for a client, which the caller closes. */
function adapterOf(client: AnyMysqlClient, timeout: StatementTimeout): MysqlClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape !== 'object' || shape === null || typeof shape.getConnection !== 'function')
    throw notAPool()
  if (typeof shape.totalConnections === 'function')
    return new MariadbClient(client as unknown as MariadbPool, false, timeout)
  return new Mysql2Client(mysql2PoolOf(client), false, timeout)
}

import { InvalidArgumentError } from '../../../../errors.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { MysqlClient } from './client.ts'
import { MariadbClient, type MariadbPool } from './mariadb.ts'
import { Mysql2Client, type Mysql2Pool } from './mysql2.ts'

type Method = (...args: never[]) => unknown

/** A pool of `mysql2`, with promises or without, or one of `mariadb`: known by its shape. */
export type AnyMysqlClient =
  | { readonly getConnection: Method; readonly execute: Method; readonly query: Method }
  | { readonly getConnection: Method; readonly promise: Method; readonly query: Method }
  | { readonly getConnection: Method; readonly totalConnections: Method; readonly query: Method }

/** The adapter for a client, which stays the caller's. */
export function adapterOf(client: AnyMysqlClient, timeout: StatementTimeout): MysqlClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape !== 'object' || shape === null || typeof shape.getConnection !== 'function')
    throw strange()
  if (typeof shape.totalConnections === 'function')
    return new MariadbClient(client as unknown as MariadbPool, false, timeout)
  return new Mysql2Client(mysql2PoolOf(client), false, timeout)
}

/** A pool with promises stands before one with callbacks. */
export function mysql2PoolOf(client: object): Mysql2Pool {
  const { pool } = client as { pool?: object }
  for (const one of [client, pool])
    if (typeof (one as Partial<Mysql2Pool> | undefined)?.promise === 'function') return one as Mysql2Pool
  throw strange()
}

function strange(): InvalidArgumentError {
  return new InvalidArgumentError('client', 'must be a pool of mysql2 or of mariadb')
}

import { checkFlag, checkOptions, checkRuntime, hasMethods, type NamesOf } from '../../../core/check.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { StatementTimeout } from '../statement-timeout.ts'
import { tableNames } from '../tables/names.ts'
import { shareByPool } from '../tables/shared-store.ts'
import type { PostgresClient } from './clients/client.ts'
import { PgClient, type PgPool } from './clients/pg.ts'
import { type PostgresJs, PostgresJsClient } from './clients/postgres.ts'

import { advisoryOver, storeOver } from './create.ts'
import { schemaOf } from './schema.ts'

type Method = (...args: never[]) => unknown

/** A pool of `pg`, or the function that `postgres` makes, recognized by its shape. */
export type AnyPostgresClient =
  | { readonly totalCount: number; readonly query: Method; readonly connect: Method }
  | { readonly unsafe: Method; readonly listen: Method; readonly begin: Method }

export interface PostgresOptions {
  /** The prefix of the table names, optionally after a schema and a dot. By default `'holdfast'`. */
  readonly table?: string
  /**
   * `'relaxed'` does not wait for the disk: a crash of the server may undo the last moments, so that a key that was just granted is
   * granted again. A crash of this process alone undoes nothing. By default `'full'`.
   */
  readonly durability?: 'full' | 'relaxed'
  /**
   * The client to listen on, if not the one for statements: behind a pooler in transaction mode, a client that bypasses it. With
   * false there are no notifications, and waiters poll.
   */
  readonly listen?: AnyPostgresClient | false
  /**
   * Uses locks that a session of the database holds (`pg_advisory_lock`), on a connection of their own, instead of leases in a table:
   * nothing is written, and every lock ends with that connection. By default false.
   */
  readonly advisory?: boolean
  readonly runtime?: Runtime
}

const OPTIONS: NamesOf<PostgresOptions> = {
  table: true,
  durability: true,
  listen: true,
  advisory: true,
  runtime: true,
}

/**
 * A store in a PostgreSQL database, through the pool you already have: a `Pool` of `pg` or the function of `postgres`. You remain
 * its owner. The store opens and closes one more connection, on which it listens. With `postgres` it also opens connections for its
 * statements, at most as many as the pool may have, because those of the library may stall after they broke. All stores over one pool
 * with the same options share these connections, and the last store closes them.
 *
 * Throws an `InvalidArgumentError` for anything else, and for options outside their limits.
 */
export function postgres(client: AnyPostgresClient, options: PostgresOptions = {}): Store {
  const { listen, advisory, table, durability, runtime } = checkOptions('options', options, OPTIONS)
  const timeout = new StatementTimeout(checkRuntime(runtime))
  const sender = () => adapterOf(client, 'client', timeout)
  if (checkFlag('advisory', advisory, false)) return advisoryOver(sender(), options, timeout)
  return shareByPool(client, [table, durability, listen, runtime], () => {
    const statements = sender()
    const listener =
      listen === false ? null : listen === undefined ? statements : adapterOf(listen, 'listen', timeout)
    return storeOver(statements, listener, options, timeout)
  })
}

/** The statements that create the tables, for your own migration. Throws an `InvalidArgumentError` for an invalid name. */
export function migration(table = 'holdfast'): string {
  return schemaOf(tableNames(table, '"'))
}

/** The adapter for a client, which the caller closes. */
function adapterOf(client: AnyPostgresClient, argument: string, timeout: StatementTimeout): PostgresClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape?.totalCount === 'number' && hasMethods(shape, ['query', 'connect', 'on', 'Client']))
    return new PgClient(client as unknown as PgPool, false, timeout)
  if (hasMethods(shape, ['unsafe', 'listen', 'begin']) && typeof shape?.options === 'object')
    return new PostgresJsClient(client as unknown as PostgresJs, timeout)
  throw new InvalidArgumentError(argument, 'must be a Pool of pg, or what the package postgres makes')
}

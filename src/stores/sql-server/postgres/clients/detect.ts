import { hasMethods } from '../../../../core/check.ts'
import { InvalidArgumentError } from '../../../../errors.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { PostgresClient } from './client.ts'
import { PgClient, type PgPool } from './pg.ts'
import { type PostgresJs, PostgresJsClient } from './postgres.ts'

type Method = (...args: never[]) => unknown

/** A pool of `pg`, or the function that `postgres` makes: known by its shape. */
export type AnyPostgresClient =
  | { readonly totalCount: number; readonly query: Method; readonly connect: Method }
  | { readonly unsafe: Method; readonly listen: Method; readonly begin: Method }

/** The adapter for a client, which stays the caller's. */
export function adapterOf(
  client: AnyPostgresClient,
  argument: string,
  timeout: StatementTimeout,
): PostgresClient {
  const shape = client as unknown as Partial<Record<string, unknown>> | null
  if (typeof shape?.totalCount === 'number' && hasMethods(shape, ['query', 'connect', 'on', 'Client']))
    return new PgClient(client as unknown as PgPool, false, timeout)
  if (hasMethods(shape, ['unsafe', 'listen', 'begin']) && typeof shape?.options === 'object')
    return new PostgresJsClient(client as unknown as PostgresJs, timeout)
  throw new InvalidArgumentError(argument, 'must be a Pool of pg, or what the package postgres makes')
}

import { show } from '../../../core/durations.ts'
import { nodeRuntime, type Runtime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { AdvisoryStore } from '../advisory/store.ts'
import { tableNames } from '../server/names.ts'
import { ServerStore } from '../server/store.ts'
import { PostgresSessions } from './advisory.ts'
import type { PostgresClient } from './clients/client.ts'
import { type AnyPostgresClient, adapterOf } from './clients/detect.ts'
import { PostgresDatabase } from './database.ts'
import { PostgresPush } from './push.ts'
import { schemaOf } from './schema.ts'
import { traitsOf } from './traits.ts'

export type { AnyPostgresClient }

export interface PostgresOptions {
  /** What the names of the tables begin with, with a schema and a dot before it if need be: `'holdfast'` by default. */
  readonly table?: string
  /**
   * `'relaxed'` does not wait for the disk: a crash of the server may take back the last moments, so that a key that was just
   * granted is granted again. A crash of this process alone takes back nothing. By default `'full'`.
   */
  readonly durability?: 'full' | 'relaxed'
  /**
   * Where to listen, if not where the statements go: behind a pooler in transaction mode, a client that goes past it. False
   * does without: whoever waits looks again by itself.
   */
  readonly listen?: AnyPostgresClient | false
  /**
   * Locks that a session of the database holds (`pg_advisory_lock`), on one connection of their own, instead of leases in a table:
   * nothing is written, and every lock ends with that connection. By default false.
   */
  readonly advisory?: boolean
  readonly runtime?: Runtime
}

/**
 * A store in a PostgreSQL database, through the pool you already have: a `Pool` of `pg` or the function of `postgres`. It
 * stays yours. The store opens one more connection like it, on which it listens, and closes that one; with `postgres` also those
 * for its statements, at most as many as the pool may have, because the library's own may stand still after they broke.
 *
 * Throws an `InvalidArgumentError` for anything else, and for options outside their limits.
 */
export function postgres(client: AnyPostgresClient, options: PostgresOptions = {}): Store {
  const { listen, advisory = false } = options
  const sender = adapterOf(client, 'client')
  if (typeof advisory !== 'boolean')
    throw new InvalidArgumentError('advisory', `must be true or false, not ${show(advisory)}`)
  if (advisory) return advisoryOver(sender, options)
  const listener = listen === false ? null : listen === undefined ? sender : adapterOf(listen, 'listen')
  return storeOver(sender, listener, options)
}

/** The statements that make the tables, for a migration of one's own; throws an `InvalidArgumentError` for a strange name. */
export function migration(table = 'holdfast'): string {
  return schemaOf(tableNames(table, '"'))
}

/** What only a table needs is refused, so that nobody believes it to be in force. */
export function advisoryOver(client: PostgresClient, options: PostgresOptions): AdvisoryStore {
  for (const name of ['table', 'durability', 'listen'] as const)
    if (options[name] !== undefined) throw new InvalidArgumentError(name, 'means nothing for advisory locks')
  return new AdvisoryStore(new PostgresSessions(client), options.runtime ?? nodeRuntime)
}

export function storeOver(
  client: PostgresClient,
  listener: PostgresClient | null,
  options: PostgresOptions,
): ServerStore {
  const { table = 'holdfast', durability = 'full', runtime = nodeRuntime } = options
  if (durability !== 'full' && durability !== 'relaxed')
    throw new InvalidArgumentError('durability', `must be 'full' or 'relaxed', not ${show(durability)}`)
  const relaxed = durability === 'relaxed'
  return new ServerStore({
    traits: traitsOf(listener === null ? 'poll' : 'push', relaxed),
    database: new PostgresDatabase(client, tableNames(table, '"'), relaxed),
    push: listener === null ? null : new PostgresPush(client, listener, runtime),
    runtime,
    close: () => client.close(),
  })
}

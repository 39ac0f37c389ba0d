import { show } from '../../../core/durations.ts'
import { nodeRuntime, type Runtime } from '../../../core/runtime.ts'
import type { Store } from '../../../core/store.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { AdvisoryStore } from '../advisory/store.ts'
import { tableNames } from '../server/names.ts'
import { ServerStore } from '../server/store.ts'
import { MysqlSessions } from './advisory.ts'
import type { MysqlClient } from './clients/client.ts'
import { type AnyMysqlClient, adapterOf } from './clients/detect.ts'
import { MysqlDatabase } from './database.ts'
import { schemaOf } from './schema.ts'
import { TRAITS } from './traits.ts'

export type { AnyMysqlClient }

export interface MysqlOptions {
  /** What the names of the tables begin with, with a database and a dot before it if need be: `'holdfast'` by default. */
  readonly table?: string
  /**
   * Locks that a session of the server holds (`GET_LOCK`), on one connection that is taken out of the pool for them, instead of
   * leases in a table: nothing is written, and every lock ends with that connection. By default false.
   */
  readonly advisory?: boolean
  readonly runtime?: Runtime
}

/**
 * A store in a MariaDB or MySQL database, through the pool you already have, of `mysql2` or of `mariadb`. It stays yours.
 *
 * Throws an `InvalidArgumentError` for anything else, and for options outside their limits.
 */
export function mysql(client: AnyMysqlClient, options: MysqlOptions = {}): Store {
  const { advisory = false } = options
  if (typeof advisory !== 'boolean')
    throw new InvalidArgumentError('advisory', `must be true or false, not ${show(advisory)}`)
  return advisory ? advisoryOver(adapterOf(client), options) : storeOver(adapterOf(client), options)
}

/** The statements that make the tables, for a migration of one's own; throws an `InvalidArgumentError` for a strange name. */
export function migration(table = 'holdfast'): string {
  return schemaOf(tableNames(table, '`'))
    .map((statement) => `${statement};\n`)
    .join('')
}

/** What only a table needs is refused, so that nobody believes it to be in force. */
export function advisoryOver(client: MysqlClient, { table, runtime }: MysqlOptions): AdvisoryStore {
  if (table !== undefined) throw new InvalidArgumentError('table', 'means nothing for advisory locks')
  return new AdvisoryStore(new MysqlSessions(client), runtime ?? nodeRuntime)
}

export function storeOver(client: MysqlClient, options: MysqlOptions): ServerStore {
  const { table = 'holdfast', runtime = nodeRuntime } = options
  return new ServerStore({
    traits: TRAITS,
    database: new MysqlDatabase(client, tableNames(table, '`')),
    push: null,
    runtime,
    close: () => client.close(),
  })
}

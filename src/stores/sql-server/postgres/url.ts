import { parametersOf } from '../../../core/parameters.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { connectionsOf, tableOptionsOf, urlOf } from '../opening.ts'

import type { PostgresOptions } from './index.ts'

export interface Location {
  /** The URL for the client library, without our parameters. */
  readonly database: string
  /** The URL to listen on: null for the same one, false for none. */
  readonly listen: string | false | null
  /** How many connections the store may open for its statements. */
  readonly connections: number
  readonly options: Pick<PostgresOptions, 'table' | 'durability' | 'advisory'>
}

const OURS = ['connections', 'table', 'durability', 'listen', 'advisory'] as const

/**
 * The parameters of libpq that `pg` or `postgres` reads, and settings of a session that change no lock. A client library ignores
 * parameters that it does not know, so no others pass.
 */
const CLIENTS = {
  host: true,
  port: true,
  user: true,
  password: true,
  ssl: true,
  sslmode: true,
  sslcert: true,
  sslkey: true,
  sslrootcert: true,
  sslnegotiation: true,
  uselibpqcompat: true,
  channel_binding: true,
  application_name: true,
  fallback_application_name: true,
  client_encoding: true,
  options: true,
  connect_timeout: true,
  target_session_attrs: true,
  keepalives: true,
  statement_timeout: true,
  lock_timeout: true,
  idle_in_transaction_session_timeout: true,
} as const

const PARAMETERS = {
  connections: true,
  table: true,
  durability: true,
  listen: true,
  advisory: true,
  ...CLIENTS,
} as const

/** Takes our own parameters out of the query: `connections`, `table`, `durability`, `listen` and `advisory`. */
export function locationOf(url: string): Location {
  const parts = urlOf(url, 'postgres://user:password@host:5432/database')
  const { table, durability, listen, advisory, connections } = parametersOf(parts.search, PARAMETERS)
  for (const name of OURS) parts.searchParams.delete(name)
  const options = tableOptionsOf({
    ...(table !== undefined && { table }),
    ...(advisory !== undefined && { advisory }),
  })
  if (options.advisory && listen !== undefined)
    throw new InvalidArgumentError('url', 'gives listen, which means nothing for advisory locks')
  if (listen !== undefined && listen !== 'false') requireUrl(listen)
  return {
    database: parts.href,
    connections: connectionsOf(connections),
    listen: listen === 'false' ? false : (listen ?? null),
    options: {
      ...options,
      ...(durability !== undefined && { durability: durability as 'full' | 'relaxed' }),
    },
  }
}

function requireUrl(listen: string): void {
  if (!/^postgres(ql)?:\/\//.test(listen) || !URL.canParse(listen))
    throw new InvalidArgumentError('url', 'must give as listen a URL that goes past the pooler, or false')
  parametersOf(new URL(listen).search, CLIENTS)
}

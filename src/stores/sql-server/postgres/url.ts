import { parametersOf } from '../../../core/parameters.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { connectionsOf } from '../tables/connections.ts'
import type { PostgresOptions } from './index.ts'

export interface Location {
  /** What is left for the client library to understand. */
  readonly database: string
  /** Where to listen: null for the same place, false for nowhere. */
  readonly listen: string | false | null
  /** How many of them the store may open for its statements. */
  readonly connections: number
  readonly options: Pick<PostgresOptions, 'table' | 'durability' | 'advisory'>
}

const OURS = ['connections', 'table', 'durability', 'listen', 'advisory'] as const

/**
 * Those of libpq that `pg` or `postgres` reads, and settings of a session that change no lock. What a client library does
 * not know would be left out in silence, so that nothing else passes.
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

const SHAPE = 'must be like postgres://user:password@host:5432/database'

/** `connections`, `table`, `durability`, `listen` and `advisory` of the query are ours; the client's own stay in the URL. */
export function locationOf(url: string): Location {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new InvalidArgumentError('url', SHAPE)
  }
  if (parts.hostname === '') throw new InvalidArgumentError('url', 'names no host')
  const { table, durability, listen, advisory, connections } = parametersOf(parts.search, PARAMETERS)
  for (const name of OURS) parts.searchParams.delete(name)
  if (advisory !== undefined && advisory !== 'true' && advisory !== 'false')
    throw new InvalidArgumentError('url', 'must give as advisory true or false')
  if (advisory === 'true' && listen !== undefined)
    throw new InvalidArgumentError('url', 'gives listen, which means nothing for advisory locks')
  if (listen !== undefined && listen !== 'false') requireUrl(listen)
  return {
    database: parts.href,
    connections: connectionsOf(connections),
    listen: listen === 'false' ? false : (listen ?? null),
    options: {
      ...(table !== undefined && { table }),
      ...(durability !== undefined && { durability: durability as 'full' | 'relaxed' }),
      ...(advisory !== undefined && { advisory: advisory === 'true' }),
    },
  }
}

function requireUrl(listen: string): void {
  if (!/^postgres(ql)?:\/\//.test(listen) || !URL.canParse(listen))
    throw new InvalidArgumentError('url', 'must give as listen a URL that goes past the pooler, or false')
  parametersOf(new URL(listen).search, CLIENTS)
}

import { parametersOf } from '../../../core/parameters.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { connectionsOf, tableOptionsOf, urlOf } from '../opening.ts'
import type { MysqlOptions } from './index.ts'

export interface Location {
  readonly database: {
    readonly host: string
    readonly port: number
    readonly user: string
    readonly password: string
    readonly database: string
  }
  /** How many connections the store may open for its statements. */
  readonly connections: number
  readonly options: Pick<MysqlOptions, 'table' | 'advisory'>
}

const PARAMETERS = { connections: true, table: true, advisory: true } as const

export function locationOf(url: string): Location {
  const parts = urlOf(url, 'mysql://user:password@host:3306/database')
  const database = decodeURIComponent(parts.pathname.slice(1))
  if (database === '' || database.includes('/'))
    throw new InvalidArgumentError('url', 'must end with the name of a database, such as /locks')
  const { connections, ...options } = parametersOf(parts.search, PARAMETERS)
  return {
    options: tableOptionsOf(options),
    database: {
      host: parts.hostname.replace(/^\[|\]$/g, ''),
      port: parts.port === '' ? 3306 : Number(parts.port),
      user: decodeURIComponent(parts.username),
      password: decodeURIComponent(parts.password),
      database,
    },
    connections: connectionsOf(connections),
  }
}

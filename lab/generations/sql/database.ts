import { createRequire } from 'node:module'
import { InvalidArgumentError, UnsupportedError } from '../../../src/index.ts'
import { loadBinding } from '../../../src/stores/sqlite/binding.ts'

/** A connection to a database, one statement at a time. */
export interface SqlDatabase {
  readonly name: string
  /** The first value of the first row, or null. Rejects when the statement fails. */
  run(statement: string): Promise<string | null>
  close(): Promise<void>
}

/** SQLite in memory, or the PostgreSQL that the URL names. */
export async function openDatabase(url: string | undefined): Promise<SqlDatabase> {
  if (url === undefined) return openSqlite()
  if (/^postgres(?:ql)?:\/\//.test(url)) return await openPostgres(url)
  throw new InvalidArgumentError('sql', 'must be a postgres:// URL; without it SQLite is used')
}

function openSqlite(): SqlDatabase {
  const database = new (loadBinding().DatabaseSync)(':memory:')
  return {
    name: 'SQLite',
    async run(statement) {
      if (/^select/i.test(statement)) return firstOf(database.prepare(statement).get())
      database.exec(statement)
      return null
    },
    close: async () => database.close(),
  }
}

interface PgClient {
  connect(): Promise<void>
  query(statement: string): Promise<{ readonly rows: readonly unknown[] }>
  end(): Promise<void>
}

async function openPostgres(url: string): Promise<SqlDatabase> {
  const client = new (loadPg())(url)
  await client.connect()
  return {
    name: 'PostgreSQL',
    run: async (statement) => firstOf((await client.query(statement)).rows[0]),
    close: () => client.end(),
  }
}

function loadPg(): new (url: string) => PgClient {
  try {
    return (createRequire(import.meta.url)('pg') as { Client: new (url: string) => PgClient }).Client
  } catch (cause) {
    throw new UnsupportedError('--sql postgres:// needs a client library: npm install pg', { cause })
  }
}

function firstOf(row: unknown): string | null {
  const [value] = Object.values((row ?? {}) as Record<string, unknown>)
  return value === undefined || value === null ? null : String(value)
}

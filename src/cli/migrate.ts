import { migration as mysqlMigration } from '../stores/sql/mysql/index.ts'
import { migration as postgresMigration } from '../stores/sql/postgres/index.ts'
import { readArguments } from './arguments.ts'
import { type Command, STORE_OPTION } from './command.ts'
import { EXIT, UsageError } from './exit.ts'
import { print } from './output.ts'
import { openLocks, withLocks } from './store.ts'

const OPTIONS = {
  store: { type: 'string' },
  table: { type: 'string' },
  print: { type: 'boolean' },
} as const

const MIGRATIONS: Readonly<Record<string, (table?: string) => string>> = {
  postgres: postgresMigration,
  postgresql: postgresMigration,
  mysql: mysqlMigration,
  mariadb: mysqlMigration,
}

export const migrate: Command = {
  help: {
    usage: 'holdfast migrate --store URL [--print] [--table NAME]',
    about:
      'Makes the tables of a PostgreSQL, MySQL or MariaDB store, or prints the statements that make them, for a user who may not.',
    examples: [
      ['the statements, for your own migrations', 'holdfast migrate --print --store postgres://'],
      ['make the tables now', 'holdfast migrate --store postgres://localhost/shop'],
    ],
    options: [
      STORE_OPTION,
      ['--print', 'print the statements and connect to nothing'],
      ['--table NAME', 'what the names of the tables begin with: holdfast'],
    ],
  },
  async run(args) {
    const { values } = readArguments(args, OPTIONS, [])
    const url = values.store ?? process.env.HOLDFAST_STORE ?? ''
    const text = MIGRATIONS[/^(\w+):/.exec(url)?.[1] ?? '']
    if (text === undefined)
      throw new UsageError('--store must be a postgres:// or mysql:// URL: other stores need no tables')
    const table = values.table ?? /[?&]table=([^&]*)/.exec(url)?.[1]
    const statements = table === undefined ? text() : text(table)
    if (values.print) {
      print(statements.trimEnd())
      return EXIT.ok
    }
    const named = values.table === undefined ? url : withTable(url, values.table)
    // Opening a store makes its tables if they are missing.
    return await withLocks(openLocks(named), async () => EXIT.ok)
  },
}

function withTable(url: string, table: string): string {
  const parts = new URL(url)
  parts.searchParams.set('table', table)
  return parts.href
}

import { migration as mysqlMigration } from '../stores/sql-server/mysql/index.ts'
import { migrateMysql } from '../stores/sql-server/mysql/open.ts'
import { migration as postgresMigration } from '../stores/sql-server/postgres/index.ts'
import { migratePostgres } from '../stores/sql-server/postgres/open.ts'
import { DATA, readArguments } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT, UsageError } from './exit.ts'
import { paintFor, print } from './output.ts'
import { jsonText } from './text.ts'

const OPTIONS = { ...DATA, table: { type: 'string' }, print: { type: 'boolean' } } as const

interface Kind {
  readonly statements: (table?: string) => string
  readonly migrate: (url: string) => Promise<boolean>
}

const POSTGRES: Kind = { statements: postgresMigration, migrate: migratePostgres }
const MYSQL: Kind = { statements: mysqlMigration, migrate: migrateMysql }
const KINDS: Readonly<Record<string, Kind>> = {
  postgres: POSTGRES,
  postgresql: POSTGRES,
  mysql: MYSQL,
  mariadb: MYSQL,
}

export const migrate: CliCommand = {
  help: {
    usage: 'holdfast migrate --store URL [--print] [--table NAME] [--json]',
    about: [
      'Makes the tables of a PostgreSQL, MySQL or MariaDB store, or changes those of an older version, and says so, or that they are',
      'there already; or prints the statements that make them, for a user who may not.',
    ].join('\n'),
    examples: [
      ['the statements, for your own migrations', 'holdfast migrate --print --store postgres://'],
      ['make the tables now', 'holdfast migrate --store postgres://localhost/shop'],
    ],
    options: [
      ['--print', 'print the statements and connect to nothing'],
      ['--table NAME', 'what the names of the tables begin with: holdfast'],
      STORE_OPTION,
      JSON_OPTION,
    ],
  },
  async run(args) {
    const { values } = readArguments(args, OPTIONS, [])
    const url = values.store ?? process.env.HOLDFAST_STORE ?? ''
    const kind = KINDS[/^(\w+):/.exec(url)?.[1]?.toLowerCase() ?? '']
    if (kind === undefined)
      throw new UsageError('--store must be a postgres:// or mysql:// URL: other stores need no tables')
    if (/[?&]advisory=true(?:&|$)/.test(url))
      throw new UsageError('--store has advisory=true: locks of a session need no tables')
    const table = values.table ?? /[?&]table=([^&]*)/.exec(url)?.[1] ?? 'holdfast'
    const statements = kind.statements(table).trimEnd()
    if (values.print) {
      print(values.json ? jsonText({ statements }) : statements)
      return EXIT.ok
    }
    const made = await kind.migrate(values.table === undefined ? url : withTable(url, values.table))
    const tables = ['meta', 'keys', 'claims', 'records'].map((name) => `${table}_${name}`)
    if (values.json) print(jsonText({ made, tables }))
    else {
      const done = made ? 'made the tables' : 'nothing to do, the tables are there already:'
      print(`${paintFor(process.stdout)('green', done)} ${tables.join(', ')}`)
    }
    return EXIT.ok
  },
}

function withTable(url: string, table: string): string {
  const parts = new URL(url)
  parts.searchParams.set('table', table)
  return parts.href
}

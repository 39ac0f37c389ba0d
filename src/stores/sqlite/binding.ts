import { requirePeer } from '../../core/optional-peer.ts'
import { UnsupportedError } from '../../errors.ts'

/** The part of `node:sqlite` that the store uses; `@photostructure/sqlite` has the same. */
export interface SqliteStatement {
  run(...parameters: readonly SqlValue[]): { readonly changes: number | bigint }
  get(...parameters: readonly SqlValue[]): unknown
  all(...parameters: readonly SqlValue[]): unknown[]
}

export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

export type SqlValue = string | number | null

export interface Binding {
  readonly DatabaseSync: new (path: string) => SqliteDatabase
}

const PEER = '@photostructure/sqlite'

/** SQLite is part of Node from 22 on. For older versions a package with the same interface brings it, without a compiler. */
export function loadBinding(): Binding {
  return builtIn() ?? fromPackage()
}

export function builtIn(): Binding | null {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown }
  if (getBuiltinModule === undefined) return null
  return withoutSqliteWarning(() => (getBuiltinModule('node:sqlite') as Binding | undefined) ?? null)
}

export function fromPackage(load: (name: string) => unknown = requirePeer): Binding {
  try {
    return load(PEER) as Binding
  } catch (cause) {
    throw new UnsupportedError(
      `the SQLite store needs Node 22.13 or newer, or a package that brings SQLite to Node ${process.versions.node}: npm install ${PEER}`,
      { cause },
    )
  }
}

/** Node 22 warns once, while the module loads, that it is experimental. Other warnings pass. */
function withoutSqliteWarning<T>(load: () => T): T {
  const emit = process.emitWarning
  const isOurs = (warning: unknown, type: unknown) =>
    type === 'ExperimentalWarning' && String(warning).startsWith('SQLite')
  process.emitWarning = ((...parameters: Parameters<typeof emit>) => {
    if (!isOurs(parameters[0], parameters[1])) emit.apply(process, parameters)
  }) as typeof emit
  try {
    return load()
  } finally {
    process.emitWarning = emit
  }
}

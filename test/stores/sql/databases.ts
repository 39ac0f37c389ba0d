import { createLocks, type Locks } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mariadb from 'mariadb'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import postgresJs from 'postgres'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

export type Level = 'READ UNCOMMITTED' | 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE'
type Rows = readonly Readonly<Record<string, unknown>>[]

/** A connection of a user, as its library gives it, with a transaction that has begun. */
export interface Tx {
  readonly handle: object
  run(text: string): Promise<Rows>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
}

/** A client library with a pool of its own. */
export interface Library {
  readonly name: string
  readonly pool: object
  readonly locks: Locks
  begin(level?: Level): Promise<Tx>
  /** One statement of its own. */
  run(text: string): Promise<Rows>
}

export interface Databases {
  readonly libraries: readonly Library[]
  close(): Promise<void>
}

/** Both databases, each through both of its libraries. */
export async function startDatabases(): Promise<Databases> {
  const [postgresServer, mariadbServer] = await Promise.all([startPostgres(), startMariadb()])
  const pgPool = new pg.Pool({ connectionString: postgresServer.url })
  const sql = postgresJs(postgresServer.url, { onnotice: () => {} })
  const mysqlPool = mysql2.createPool(mariadbServer.url)
  const mariadbPool = mariadb.createPool(mariadbServer.url.replace('mysql:', 'mariadb:'))
  const libraries: Library[] = [
    library('pg', pgPool, createLocks({ store: postgres(pgPool) }), async () => {
      const client = await pgPool.connect()
      return [client, async (text) => (await client.query(text)).rows ?? [], () => client.release()]
    }),
    library('postgres', sql, createLocks({ store: postgres(sql) }), async () => {
      const reserved = await sql.reserve()
      return [reserved, (text) => reserved.unsafe(text), () => reserved.release()]
    }),
    library('mysql2', mysqlPool, createLocks({ store: mysql(mysqlPool) }), async () => {
      const connection = await mysqlPool.getConnection()
      return [
        connection,
        async (text) => (await connection.query(text))[0] as Rows,
        () => connection.release(),
      ]
    }),
    library('mariadb', mariadbPool, createLocks({ store: mysql(mariadbPool) }), async () => {
      const connection = await mariadbPool.getConnection()
      return [connection, (text) => connection.query(text), () => connection.release()]
    }),
  ]
  return {
    libraries,
    close: async () => {
      await Promise.all(libraries.map(({ locks }) => locks.close()))
      await Promise.all([pgPool.end(), sql.end({ timeout: 1 }), mysqlPool.end(), mariadbPool.end()])
      await Promise.all([postgresServer.stop(), mariadbServer.stop()])
    },
  }
}

type Lend = () => Promise<[handle: object, run: (text: string) => Promise<Rows>, giveBack: () => unknown]>

function library(name: string, pool: object, locks: Locks, lend: Lend): Library {
  return {
    name,
    pool,
    locks,
    begin: async (level = 'READ COMMITTED') => {
      const [handle, run, giveBack] = await lend()
      if (name === 'pg' || name === 'postgres') await run(`BEGIN ISOLATION LEVEL ${level}`)
      else {
        await run(`SET TRANSACTION ISOLATION LEVEL ${level}`)
        await run('BEGIN')
      }
      const end = (text: string) => async () => {
        await run(text)
        await giveBack()
      }
      return { handle, run, commit: end('COMMIT'), rollback: end('ROLLBACK') }
    },
    run: async (text) => {
      const [, run, giveBack] = await lend()
      try {
        return await run(text)
      } finally {
        await giveBack()
      }
    },
  }
}

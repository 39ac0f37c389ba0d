import { UnsupportedError } from 'holdfast'
import mysql2 from 'mysql2'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { LockOperation, SessionServer } from '../../../src/stores/sql-server/advisory/session-server.ts'
import { MysqlSessions } from '../../../src/stores/sql-server/mysql/advisory.ts'
import { Mysql2Client, type Mysql2Pool } from '../../../src/stores/sql-server/mysql/clients/mysql2.ts'
import { PostgresSessions } from '../../../src/stores/sql-server/postgres/advisory.ts'
import { PgClient, type PgPool } from '../../../src/stores/sql-server/postgres/clients/pg.ts'
import { StatementTimeout } from '../../../src/stores/sql-server/statement-timeout.ts'

const PATIENCE = new StatementTimeout(nodeRuntime)

/** A database whose session can be made to go on over another connection, as behind a pooler. */
interface Moving {
  readonly server: SessionServer
  move(): void
  close(): Promise<void>
}

const DATABASES: Record<string, () => Promise<Moving>> = {
  PostgreSQL: async () => {
    const server = await startPostgres()
    const pool = new pg.Pool({ connectionString: server.url })
    const client = new PgClient(pool as unknown as PgPool, true, PATIENCE)
    let moved = false
    const session: PgClient['session'] = async (events) => {
      const [first, second] = [await client.session(events), await client.session({ lost: () => {} })]
      return {
        pid: first.pid,
        query: (...statement) => (moved ? second : first).query(...statement),
        close: async () => void (await Promise.all([first.close(), second.close()])),
      }
    }
    return {
      server: new PostgresSessions(Object.assign(Object.create(client), { session }), PATIENCE),
      move: () => {
        moved = true
      },
      close: async () => {
        await client.close()
        await server.stop()
      },
    }
  },
  MariaDB: async () => {
    const server = await startMariadb()
    const client = new Mysql2Client(mysql2.createPool(server.url) as unknown as Mysql2Pool, true, PATIENCE)
    let moved = false
    const session: Mysql2Client['session'] = async (lost) => {
      const [first, second] = [await client.session(lost), await client.session(() => {})]
      return {
        query: (text) => (moved ? second : first).query(text),
        close: () => {
          first.close()
          second.close()
        },
      }
    }
    return {
      server: new MysqlSessions(Object.assign(Object.create(client), { session }), PATIENCE),
      move: () => {
        moved = true
      },
      close: async () => {
        await client.close()
        await server.stop()
      },
    }
  },
}

describe.each(Object.entries(DATABASES))('a session of %s', (_, start) => {
  it('takes no lock over another connection, and reports it', async () => {
    const database = await start()
    const name = database.server.nameOf('key')
    const lock: LockOperation = { kind: 'lock', shared: false, name }
    const other: LockOperation = { ...lock, name: database.server.nameOf('other') }
    const connection = await database.server.open(() => {})
    try {
      expect(await connection.run([lock])).toEqual([true])
      expect(await connection.run([{ ...lock, kind: 'unlock' }])).toEqual([true])
      expect(await connection.run([])).toEqual([])
      database.move()
      for (const steps of [[lock], [lock, other], []])
        await expect(connection.run(steps)).rejects.toThrow(UnsupportedError)
      const witness = await database.server.open(() => {})
      expect([await witness.holders(name), await witness.holders(other.name)]).toEqual([[], []])
      await witness.close()
    } finally {
      await connection.close()
      await database.close()
    }
  })
})

import { ConnectionLender, type ConnectionSource } from '../../connection-lender.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { Row } from '../../tables/rows.ts'
import {
  inTransaction,
  keptSession,
  type MysqlClient,
  type MysqlResult,
  type MysqlSession,
  type PoolConnection,
  PreparedStatements,
  type TxStep,
  type Value,
} from './client.ts'
import { mysqlResultOf } from './mysql2.ts'

interface Connection extends PoolConnection {
  query(options: object, values?: unknown[]): Promise<unknown>
  execute(options: object, values: unknown[]): Promise<unknown>
  release(): Promise<void>
  /** The only access to the socket of a connection. */
  readonly __tests?: { getSocket(): { destroy(error: Error): unknown } | undefined }
}

/** The used part of a pool of `mariadb`. */
export interface MariadbPool {
  getConnection(): Promise<Connection>
  end(): Promise<void>
}

const SHAPE = { rowsAsArray: false, metaAsArray: false, nestTables: false }

export class MariadbClient implements MysqlClient {
  private readonly pool: MariadbPool
  private readonly own: boolean
  private readonly timeout: StatementTimeout
  private readonly lender: ConnectionLender<Connection>
  private readonly preparing = new PreparedStatements()

  constructor(pool: MariadbPool, own: boolean, timeout: StatementTimeout) {
    this.pool = pool
    this.own = own
    this.timeout = timeout
    this.lender = new ConnectionLender(new MariadbConnections(pool), timeout)
  }

  async run(text: string, values: readonly Value[], often = false): Promise<MysqlResult> {
    const statement = { sql: text, ...SHAPE }
    const given = values as Value[]
    const ask = (how: 'execute' | 'query') => () =>
      this.lender.run((connection) => connection[how](statement, given))
    return mysqlResultOf(await this.preparing.run(often, ask('execute'), ask('query')))
  }

  transaction(steps: readonly TxStep[]): Promise<boolean> {
    return this.lender.run((connection) =>
      inTransaction(
        async (text, values) =>
          mysqlResultOf(await connection.query({ sql: text, ...SHAPE }, values as Value[])),
        steps,
      ),
    )
  }

  async session(lost: () => void): Promise<MysqlSession> {
    const taken = this.pool.getConnection()
    const connection = await this.timeout.bound(taken, () => void taken.then(end, ignore))
    const query = async (sql: string) => (await connection.query({ sql, ...SHAPE })) as Row[]
    return keptSession(connection, query, lost, () => end(connection))
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.end()
  }
}

/** The pool pings a connection that has been idle for a while before it lends it. */
class MariadbConnections implements ConnectionSource<Connection> {
  readonly announces = false
  private readonly pool: MariadbPool

  constructor(pool: MariadbPool) {
    this.pool = pool
  }

  take(): Promise<Connection> {
    return this.pool.getConnection()
  }

  giveBack(connection: Connection): void {
    connection.release().catch(ignore)
  }

  destroy(connection: Connection): void {
    end(connection)
  }
}

/**
 * The library's own `destroy` opens another connection for a `KILL` of the current statement. Its error ends the process when the server
 * no longer knows the number, and after a failover the number belongs to another client.
 */
function end(connection: Connection): void {
  const socket = connection.__tests?.getSocket()
  if (socket === undefined) connection.destroy()
  else socket.destroy(new Error('the server did not answer, or the connection is not needed any more'))
}

function ignore(): void {}

import type { MysqlClient, MysqlSession, Result, Row, Value } from './client.ts'
import { resultOf } from './mysql2.ts'
import { kept, type PoolConnection } from './session.ts'

/** As much of a pool of `mariadb` as is needed. */
export interface MariadbPool {
  query(options: object, values: unknown[]): Promise<unknown>
  getConnection(): Promise<PoolConnection>
  end(): Promise<void>
}

const SHAPE = { rowsAsArray: false, metaAsArray: false, nestTables: false }

export class MariadbClient implements MysqlClient {
  private readonly pool: MariadbPool
  private readonly own: boolean

  constructor(pool: MariadbPool, own: boolean) {
    this.pool = pool
    this.own = own
  }

  async run(text: string, values: readonly Value[]): Promise<Result> {
    return resultOf(await this.pool.query({ sql: text, ...SHAPE }, values as Value[]))
  }

  async session(lost: () => void): Promise<MysqlSession> {
    const connection = await this.pool.getConnection()
    const query = async (sql: string) => (await connection.query({ sql, ...SHAPE })) as Row[]
    return kept(connection, query, lost)
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.end()
  }
}

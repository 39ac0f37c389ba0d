import {
  type MysqlClient,
  type MysqlSession,
  Preparing,
  type Result,
  type Row,
  type Value,
} from './client.ts'
import { resultOf } from './mysql2.ts'
import { kept, type PoolConnection } from './session.ts'

/** As much of a pool of `mariadb` as is needed. */
export interface MariadbPool {
  query(options: object, values: unknown[]): Promise<unknown>
  execute(options: object, values: unknown[]): Promise<unknown>
  getConnection(): Promise<PoolConnection & { query(options: object): Promise<unknown> }>
  end(): Promise<void>
}

const SHAPE = { rowsAsArray: false, metaAsArray: false, nestTables: false }

export class MariadbClient implements MysqlClient {
  private readonly pool: MariadbPool
  private readonly own: boolean
  private readonly preparing = new Preparing()

  constructor(pool: MariadbPool, own: boolean) {
    this.pool = pool
    this.own = own
  }

  async run(text: string, values: readonly Value[], often = false): Promise<Result> {
    const statement = { sql: text, ...SHAPE }
    const result = await this.preparing.run(
      often,
      () => this.pool.execute(statement, values as Value[]),
      () => this.pool.query(statement, values as Value[]),
    )
    return resultOf(result)
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

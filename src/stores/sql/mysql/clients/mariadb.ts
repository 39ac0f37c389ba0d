import type { MysqlClient, Result, Value } from './client.ts'
import { resultOf } from './mysql2.ts'

/** As much of a pool of `mariadb` as is needed. */
export interface MariadbPool {
  query(options: object, values: unknown[]): Promise<unknown>
  end(): Promise<void>
}

export class MariadbClient implements MysqlClient {
  private readonly pool: MariadbPool
  private readonly own: boolean

  constructor(pool: MariadbPool, own: boolean) {
    this.pool = pool
    this.own = own
  }

  async run(text: string, values: readonly Value[]): Promise<Result> {
    const options = { sql: text, rowsAsArray: false, metaAsArray: false, nestTables: false }
    return resultOf(await this.pool.query(options, values as Value[]))
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.end()
  }
}

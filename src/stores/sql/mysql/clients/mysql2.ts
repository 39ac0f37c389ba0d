import {
  type MysqlClient,
  type MysqlSession,
  Preparing,
  type Result,
  type Row,
  type Value,
} from './client.ts'
import { kept, type PoolConnection } from './session.ts'

interface Packet {
  readonly affectedRows?: number
  readonly insertId?: number | string
}

/** As much of a pool of `mysql2/promise` as is needed. */
export interface Mysql2Pool {
  query(options: object, values: unknown[]): Promise<readonly [unknown, unknown]>
  execute(options: object, values: unknown[]): Promise<readonly [unknown, unknown]>
  getConnection(): Promise<PoolConnection>
  end(): Promise<void>
}

export class Mysql2Client implements MysqlClient {
  private readonly pool: Mysql2Pool
  private readonly own: boolean
  private readonly preparing = new Preparing()

  constructor(pool: Mysql2Pool, own: boolean) {
    this.pool = pool
    this.own = own
  }

  async run(text: string, values: readonly Value[], often = false): Promise<Result> {
    const statement = { sql: text, rowsAsArray: false }
    const [result] = await this.preparing.run(
      often,
      () => this.pool.execute(statement, values as Value[]),
      () => this.pool.query(statement, values as Value[]),
    )
    return resultOf(result)
  }

  async session(lost: () => void): Promise<MysqlSession> {
    const connection = await this.pool.getConnection()
    const query = async (sql: string) => {
      const [rows] = (await connection.query({ sql, rowsAsArray: false })) as readonly [Row[], unknown]
      return rows
    }
    return kept(connection, query, lost)
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.end()
  }
}

/** Rows, or a packet that counts them; a compound statement gives a list of such results, the rows first. */
export function resultOf(result: unknown): Result {
  const [first] = Array.isArray(result) ? result : []
  if (Array.isArray(first)) return resultOf(first)
  if (Array.isArray(result)) return { rows: result as Row[], affected: 0, insertId: 0 }
  const { affectedRows = 0, insertId = 0 } = result as Packet
  return { rows: [], affected: affectedRows, insertId: Number(insertId) }
}

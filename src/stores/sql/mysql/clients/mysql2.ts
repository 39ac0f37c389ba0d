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

type Done = (error: unknown, result: unknown) => void

interface Connection extends PoolConnection {
  query(options: object, done: Done): unknown
}

/** As much of a pool of `mysql2` as is needed: of the one with callbacks, because the one with promises takes note of the stack at every call. */
export interface Mysql2Pool {
  query(options: object, values: unknown[], done: Done): unknown
  execute(options: object, values: unknown[], done: Done): unknown
  getConnection(done: Done): unknown
  promise(): { end(): Promise<void> }
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
    const result = await this.preparing.run(
      often,
      () => answerOf((done) => this.pool.execute(statement, values as Value[], done)),
      () => answerOf((done) => this.pool.query(statement, values as Value[], done)),
    )
    return resultOf(result)
  }

  async session(lost: () => void): Promise<MysqlSession> {
    const connection = (await answerOf((done) => this.pool.getConnection(done))) as Connection
    const query = async (sql: string) =>
      (await answerOf((done) => connection.query({ sql, rowsAsArray: false }, done))) as readonly Row[]
    return kept(connection, query, lost)
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.promise().end()
  }
}

function answerOf(call: (done: Done) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** Rows, or a packet that counts them; a compound statement gives a list of such results, the rows first. */
export function resultOf(result: unknown): Result {
  const [first] = Array.isArray(result) ? result : []
  if (Array.isArray(first)) return resultOf(first)
  if (Array.isArray(result)) return { rows: result as Row[], affected: 0, insertId: 0 }
  const { affectedRows = 0, insertId = 0 } = result as Packet
  return { rows: [], affected: affectedRows, insertId: Number(insertId) }
}

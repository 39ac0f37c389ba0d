import { InvalidArgumentError } from '../../../../errors.ts'
import { ConnectionLender, type ConnectionSource, noteAnswer } from '../../connection-lender.ts'
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

interface Packet {
  readonly affectedRows?: number
  readonly insertId?: number | string
}

type Done = (error: unknown, result: unknown) => void
type Listener = (connection: Connection) => void

interface Connection extends PoolConnection {
  readonly stream: { destroy(): unknown }
  query(options: object, values: unknown[], done: Done): unknown
  execute(options: object, values: unknown[], done: Done): unknown
  release(): void
}

/** The used part of a pool of `mysql2` with callbacks: the one with promises captures the stack at every call. */
export interface Mysql2Pool {
  readonly config: { readonly connectionConfig: { connectTimeout: number } }
  getConnection(done: Done): unknown
  on(event: 'connection', listener: Listener): unknown
  off(event: 'connection', listener: Listener): unknown
  promise(): { end(): Promise<void> }
}

export class Mysql2Client implements MysqlClient {
  private readonly pool: Mysql2Pool
  private readonly own: boolean
  private readonly timeout: StatementTimeout
  private readonly lender: ConnectionLender<Connection>
  private readonly preparing = new PreparedStatements()
  /** The connections of a pool of our own, which closes with the store. */
  private readonly open = new Set<Connection>()

  constructor(pool: Mysql2Pool, own: boolean, timeout: StatementTimeout) {
    this.pool = pool
    this.own = own
    this.timeout = timeout
    this.lender = new ConnectionLender(new Mysql2Connections(pool), timeout)
    listen(pool, 1)
    if (own)
      pool.on('connection', (connection) => {
        this.open.add(connection)
        connection.on('end', () => this.open.delete(connection))
      })
  }

  async run(text: string, values: readonly Value[], often = false): Promise<MysqlResult> {
    const statement = { sql: text, rowsAsArray: false }
    const given = values as Value[]
    const ask = (how: 'execute' | 'query') => () =>
      this.lender.run((connection) => answerOf((done) => connection[how](statement, given, done)))
    // To connect, our own pool has the time of one statement.
    if (this.own) this.pool.config.connectionConfig.connectTimeout = this.timeout.ms
    return mysqlResultOf(await this.preparing.run(often, ask('execute'), ask('query')))
  }

  transaction(steps: readonly TxStep[]): Promise<boolean> {
    return this.lender.run((connection) =>
      inTransaction(
        async (text, values) =>
          mysqlResultOf(
            await answerOf((done) =>
              connection.query({ sql: text, rowsAsArray: false }, values as Value[], done),
            ),
          ),
        steps,
      ),
    )
  }

  async session(lost: () => void): Promise<MysqlSession> {
    const taken = answerOf((done) => this.pool.getConnection(done)) as Promise<Connection>
    const connection = await this.timeout.bound(taken, () => void taken.then(end, ignore))
    const query = async (sql: string) =>
      (await answerOf((done) => connection.query({ sql, rowsAsArray: false }, [], done))) as readonly Row[]
    return keptSession(connection, query, lost, () => end(connection))
  }

  async close(): Promise<void> {
    listen(this.pool, -1)
    if (!this.own) return
    await this.pool.promise().end()
    for (const { stream } of this.open) stream.destroy()
  }
}

class Mysql2Connections implements ConnectionSource<Connection> {
  readonly announces = true
  private readonly pool: Mysql2Pool

  constructor(pool: Mysql2Pool) {
    this.pool = pool
  }

  take(): Promise<Connection> {
    return answerOf((done) => this.pool.getConnection(done)) as Promise<Connection>
  }

  giveBack(connection: Connection): void {
    connection.release()
  }

  destroy(connection: Connection): void {
    end(connection)
  }
}

/** The library's own `destroy` waits for the server to end the connection. */
function end(connection: Connection): void {
  connection.destroy()
  connection.stream.destroy()
}

const stores = new WeakMap<Mysql2Pool, number>()

function listen(pool: Mysql2Pool, change: 1 | -1): void {
  const before = stores.get(pool) ?? 0
  stores.set(pool, before + change)
  if (before === 0) pool.on('connection', noteAnswer)
  if (before + change === 0) pool.off('connection', noteAnswer)
}

function answerOf(call: (done: Done) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** Rows, or a packet that counts them; a compound statement gives a list of such results, the rows first. */
export function mysqlResultOf(result: unknown): MysqlResult {
  const [first] = Array.isArray(result) ? result : []
  if (Array.isArray(first)) return mysqlResultOf(first)
  if (Array.isArray(result)) return { rows: result as Row[], affected: 0, insertId: 0 }
  const { affectedRows = 0, insertId = 0 } = result as Packet
  return { rows: [], affected: affectedRows, insertId: Number(insertId) }
}

/** The pool with callbacks, which a pool with promises wraps. */
export function mysql2PoolOf(client: object): Mysql2Pool {
  const { pool } = client as { pool?: object }
  for (const one of [client, pool])
    if (typeof (one as Partial<Mysql2Pool> | undefined)?.promise === 'function') return one as Mysql2Pool
  throw notAPool()
}

export function notAPool(): InvalidArgumentError {
  return new InvalidArgumentError('client', 'must be a pool of mysql2 or of mariadb')
}

function ignore(): void {}

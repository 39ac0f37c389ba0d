import { statementName } from '../statement-name.ts'
import {
  isUnprepared,
  type PostgresClient,
  type PostgresSession,
  type Row,
  type SessionEvents,
} from './client.ts'

interface Answer {
  readonly rows: readonly Row[]
}

/** As much of a client of `pg` as is needed. */
export interface PgConnection {
  connect(): Promise<unknown>
  readonly processID: number | null
  query(text: string | { text: string; values?: unknown[]; name?: string }): Promise<unknown>
  end(): Promise<void>
  on(event: string, listener: (...args: never[]) => void): unknown
}

/** As much of a pool of `pg` as is needed. */
export interface PgPool {
  readonly options: object
  readonly Client: new (options: object) => PgConnection
  query(statement: { text: string; values?: unknown[]; name?: string }): Promise<unknown>
  on(event: string, listener: (...args: never[]) => void): unknown
  off(event: string, listener: (...args: never[]) => void): unknown
  end(): Promise<void>
}

export class PgClient implements PostgresClient {
  private readonly pool: PgPool
  private readonly own: boolean
  /** Statements keep their plans on their connection; behind a pooler in transaction mode that is nobody's. */
  private prepares = true

  constructor(pool: PgPool, own: boolean) {
    this.pool = pool
    this.own = own
    hush(pool, 1)
  }

  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const given = values as unknown[]
    if (!this.prepares) return rowsOf(await this.pool.query({ text, values: given }))
    try {
      return rowsOf(await this.pool.query({ text, values: given, name: statementName(text) }))
    } catch (error) {
      if (!isUnprepared(error)) throw error
      this.prepares = false
      return rowsOf(await this.pool.query({ text, values: given }))
    }
  }

  async script(text: string): Promise<void> {
    await this.pool.query({ text })
  }

  async session({ lost, heard }: SessionEvents): Promise<PostgresSession> {
    const connection = new this.pool.Client({ ...this.pool.options, keepAlive: true })
    let open = true
    const end = (): void => {
      if (open) lost()
      open = false
    }
    connection.on('error', end)
    connection.on('end', end)
    if (heard !== undefined)
      connection.on('notification', (said: { channel: string; payload?: string }) =>
        heard(said.channel, said.payload ?? ''),
      )
    const close = async (): Promise<void> => {
      open = false
      await connection.end()
    }
    try {
      await connection.connect()
    } catch (error) {
      await close().catch(ignore)
      throw error
    }
    return {
      pid: connection.processID,
      query: (text, values, often = false) =>
        connection
          .query(
            often
              ? { text, values: values as unknown[], name: statementName(text) }
              : { text, values: values as unknown[] },
          )
          .then(rowsOf),
      close,
    }
  }

  async close(): Promise<void> {
    if (this.own) await this.pool.end()
    hush(this.pool, -1)
  }
}

function rowsOf(answer: unknown): readonly Row[] {
  return (answer as Answer).rows
}

const stores = new WeakMap<PgPool, number>()

/** An idle connection that breaks is told of by the pool, and would end the process if nobody listened. */
function hush(pool: PgPool, change: 1 | -1): void {
  const before = stores.get(pool) ?? 0
  stores.set(pool, before + change)
  if (before === 0) pool.on('error', ignore)
  if (before + change === 0) pool.off('error', ignore)
}

function ignore(): void {}

import { ConnectionLender, type ConnectionSource, noteAnswer } from '../../connection-lender.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { Row } from '../../tables/rows.ts'

import {
  isAnswer,
  isUnprepared,
  type PostgresClient,
  type PostgresSession,
  type SessionEvents,
} from './client.ts'

interface Answer {
  readonly rows: readonly Row[]
}

type Listener = (...args: never[]) => void

/** The used part of a client of `pg`. */
export interface PgConnection {
  connect(): Promise<unknown>
  readonly processID: number | null
  /** The client over libpq has none. */
  readonly connection?: { readonly stream: { destroy(): unknown } }
  query(text: string | { text: string; values?: unknown[]; name?: string }): Promise<unknown>
  end(): Promise<void>
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

interface PoolConnection extends PgConnection {
  /** True ends it. */
  release(end: boolean): void
}

/** The used part of a pool of `pg`. */
export interface PgPool {
  readonly options: { connectionTimeoutMillis?: number }
  readonly Client: new (options: object) => PgConnection
  connect(): Promise<PoolConnection>
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
  end(): Promise<void>
}

/** The timeout of a graceful close. */
const CLOSE_MS = 1000

export class PgClient implements PostgresClient {
  private readonly pool: PgPool
  private readonly own: boolean
  private readonly timeout: StatementTimeout
  private readonly lender: ConnectionLender<PoolConnection>
  /** The connections of a pool of our own, which closes with the store. */
  private readonly open = new Set<PgConnection>()
  /** A prepared statement belongs to a connection, which a pooler in transaction mode does not keep. */
  private prepares = true

  constructor(pool: PgPool, own: boolean, timeout: StatementTimeout) {
    this.pool = pool
    this.own = own
    this.timeout = timeout
    this.lender = new ConnectionLender(new PgConnections(pool), timeout)
    listen(pool, 1)
    if (!own) return
    pool.on('connect', (connection: PgConnection) => void this.open.add(connection))
    pool.on('remove', (connection: PgConnection) => void this.open.delete(connection))
  }

  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const given = values as unknown[]
    if (!this.prepares) return this.query({ text, values: given })
    try {
      return await this.query({ text, values: given, name: statementName(text) })
    } catch (error) {
      if (!isUnprepared(error)) throw error
      this.prepares = false
      return this.query({ text, values: given })
    }
  }

  async script(text: string): Promise<void> {
    await this.query({ text })
  }

  async session({ lost, heard }: SessionEvents): Promise<PostgresSession> {
    const { options } = this.pool
    const connectionTimeoutMillis = Math.min(options.connectionTimeoutMillis || Infinity, this.timeout.ms)
    const connection = new this.pool.Client({ ...options, connectionTimeoutMillis, keepAlive: true })
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
      await this.closeGracefully(connection.end(), [connection])
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
    // Connections of our own pool may still break after the close has timed out.
    if (this.own) await this.closeGracefully(this.pool.end(), this.open)
    else listen(this.pool, -1)
  }

  private async query(statement: { text: string; values?: unknown[]; name?: string }) {
    // To connect, our own pool has the time of one statement.
    if (this.own) this.pool.options.connectionTimeoutMillis = this.timeout.ms
    return this.lender.run(async (connection) => rowsOf(await connection.query(statement)))
  }

  /** Bounds the wait for a server that does not end the connection. */
  private async closeGracefully(ending: Promise<void>, connections: Iterable<PgConnection>): Promise<void> {
    await this.timeout.bound(ending, () => sever(connections), CLOSE_MS).catch(ignore)
  }
}

class PgConnections implements ConnectionSource<PoolConnection> {
  readonly announces = true
  private readonly pool: PgPool

  constructor(pool: PgPool) {
    this.pool = pool
  }

  async take(): Promise<PoolConnection> {
    const connection = await this.pool.connect()
    listenTo(connection)
    return connection
  }

  giveBack(connection: PoolConnection, error?: unknown): void {
    connection.release(error !== undefined && !isAnswer(error))
  }

  destroy(connection: PoolConnection): void {
    connection.release(true)
    sever([connection])
  }
}

function sever(connections: Iterable<PgConnection>): void {
  for (const { connection } of connections) connection?.stream.destroy()
}

function rowsOf(answer: unknown): readonly Row[] {
  return (answer as Answer).rows
}

const stores = new WeakMap<PgPool, number>()

/** The pool emits an error for a broken idle connection, which would end the process without a listener. */
function listen(pool: PgPool, change: 1 | -1): void {
  const before = stores.get(pool) ?? 0
  stores.set(pool, before + change)
  if (before === 0) {
    pool.on('error', ignore)
    pool.on('connect', connected)
  }
  if (before + change === 0) {
    pool.off('error', ignore)
    pool.off('connect', connected)
  }
}

function connected(connection: PgConnection): void {
  noteAnswer(connection)
  listenTo(connection)
}

const listenedTo = new WeakSet<PgConnection>()

/**
 * The pool listens for errors only while it owns a connection. A connection that the server ends while the promise of the pool is on its
 * way to us would end the process, so this listener stays for the life of the connection.
 */
function listenTo(connection: PgConnection): void {
  if (listenedTo.has(connection)) return
  listenedTo.add(connection)
  connection.on('error', ignore)
}

function ignore(): void {}

const names = new Map<string, string>()

/**
 * The name of a prepared statement. It depends on the text alone: behind a pooler another process may have given the same name, which
 * must mean the same there.
 */
function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `holdfast_${hash(text, 0x811c9dc5)}${hash(text, 0x01234567)}`
    names.set(text, name)
  }
  return name
}

/** FNV-1a: 32 bits from each of two seeds are far more than a few dozen statements need. */
function hash(text: string, seed: number): string {
  let value = seed
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}

import type { Row } from '../../tables/rows.ts'
export interface MysqlResult {
  readonly rows: readonly Row[]
  readonly affected: number
  /** What the statement gave to `LAST_INSERT_ID`, which travels back with every answer. */
  readonly insertId: number
}

/** A connection of the pool that is kept, for what belongs to a session. */
export interface MysqlSession {
  /** One statement without values, after the others. */
  query(text: string): Promise<readonly Row[]>
  /** Ends the connection, so that nobody is given what is left of the session. */
  close(): void
}

/**
 * What the store needs of a client library: a pool of connections. Texts are given as bytes, which reach the server as they
 * are, whatever the character sets and the rules of quoting of a connection.
 */
export interface MysqlClient {
  /** One statement, which is a transaction of its own, on any connection of the pool; `often` for one that is worth preparing. */
  run(text: string, values: readonly Value[], often?: boolean): Promise<MysqlResult>
  /** Statements that are done together on one connection, or not at all when one of them affects other than so many rows. */
  transaction(steps: readonly TxStep[]): Promise<boolean>
  /** Takes a connection out of the pool; `lost` is called once when it ends other than by `close`. */
  session(lost: () => void): Promise<MysqlSession>
  close(): Promise<void>
}

export type Value = Buffer | number | null

/** One statement of a transaction; if it changes other than `affects` rows, the transaction is rolled back. */
export interface TxStep {
  readonly text: string
  readonly values: readonly Value[]
  readonly affects?: number
}

export function bytes(value: string): Buffer {
  return Buffer.from(value)
}

export function bytesOrNull(value: string | null): Buffer | null {
  return value === null ? null : bytes(value)
}

/** The server keeps no more prepared statements, cannot prepare this one, or (behind a proxy) never heard of it: nothing was done. */
const UNPREPARED = new Set([1461, 1295, 1615, 1243])

/** Statements are prepared as long as the server goes along with it. */
export class PreparedStatements {
  private on = true

  async run<T>(often: boolean, prepared: () => Promise<T>, plain: () => Promise<T>): Promise<T> {
    if (!often || !this.on) return plain()
    try {
      return await prepared()
    } catch (error) {
      if (!UNPREPARED.has((error as { errno?: number } | null)?.errno ?? 0)) throw error
      this.on = false
      return plain()
    }
  }
}

/** The statements of a transaction, one by one. */
export async function inTransaction(
  run: (text: string, values: readonly Value[]) => Promise<MysqlResult>,
  steps: readonly TxStep[],
): Promise<boolean> {
  await run('START TRANSACTION', [])
  try {
    for (const { text, values, affects } of steps) {
      const { affected } = await run(text, values)
      if (affects !== undefined && affected !== affects) {
        await run('ROLLBACK', [])
        return false
      }
    }
    await run('COMMIT', [])
    return true
  } catch (error) {
    await run('ROLLBACK', []).catch(() => {})
    throw error
  }
}

/** The part of a connection that keeping it needs, of `mysql2` and of `mariadb` alike. */
export interface PoolConnection {
  on(event: string, listener: () => void): unknown
  destroy(): void
}

/** A session never gives its connection back: it ends it, and the pool opens another when it needs one. */
export function keptSession(
  connection: PoolConnection,
  query: MysqlSession['query'],
  lost: () => void,
  destroy: () => void,
): MysqlSession {
  let open = true
  const end = (): void => {
    if (open) lost()
    open = false
  }
  connection.on('error', end)
  connection.on('end', end)
  return {
    query,
    close: () => {
      open = false
      destroy()
    },
  }
}

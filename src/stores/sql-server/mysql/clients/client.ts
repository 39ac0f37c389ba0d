import type { Row } from '../../tables/rows.ts'
export interface MysqlResult {
  readonly rows: readonly Row[]
  readonly affected: number
  /** The value of `LAST_INSERT_ID` in the statement, which every answer carries. */
  readonly insertId: number
}

/** A connection taken out of the pool, for the state of a session. */
export interface MysqlSession {
  /** Runs statements without parameters one after the other. */
  query(text: string): Promise<readonly Row[]>
  /** Ends the connection, so that the pool does not reuse the session. */
  close(): void
}

/**
 * The operations that the store needs of a client library. Texts are passed as bytes, which reach the server unchanged whatever the
 * character set and the quoting rules of a connection.
 */
export interface MysqlClient {
  /** Runs one statement as a transaction of its own, on any connection; `often` marks one that is worth preparing. */
  run(text: string, values: readonly Value[], often?: boolean): Promise<MysqlResult>
  /** Runs statements in one transaction. Rolls back and resolves to false when one affects other than the given number of rows. */
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

/** The server keeps no more prepared statements, cannot prepare this one, or (behind a proxy) does not know it: nothing was done. */
const UNPREPARED = new Set([1461, 1295, 1615, 1243])

/** Prepares statements until the server refuses one. */
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

/** Sends the statements of a transaction one by one. */
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

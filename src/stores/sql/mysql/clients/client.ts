export type Row = Readonly<Record<string, unknown>>

export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
  /** What the statement gave to `LAST_INSERT_ID`, which travels back with every answer. */
  readonly insertId: number
}

/**
 * What the store needs of a client library: a pool of connections. Texts are given as bytes, which reach the server as they
 * are, whatever the character sets and the rules of quoting of a connection.
 */
export interface MysqlClient {
  /** One statement, which is a transaction of its own, on any connection of the pool. */
  run(text: string, values: readonly Value[]): Promise<Result>
  close(): Promise<void>
}

export type Value = Buffer | number | null

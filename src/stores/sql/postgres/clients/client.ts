export type Row = Readonly<Record<string, unknown>>

/** A connection that hears what is sent to one channel. */
export interface Subscription {
  close(): Promise<void>
}

export interface Hearing {
  message(payload: string): void
  /** It listens, from now on or again. */
  up(): void
  down(): void
}

/** A connection of its own, for what belongs to a session. */
export interface PostgresSession {
  /** What the server said to be the number of the process that serves it; null when the client does not tell. */
  readonly pid: number | null
  /** One statement after the other; `often` for one that is worth preparing. */
  query(text: string, values: readonly unknown[], often?: boolean): Promise<readonly Row[]>
  close(): Promise<void>
}

/** What the store needs of a client library: a pool of connections, and one that listens. */
export interface PostgresClient {
  /** One statement, which is a transaction of its own, on any connection of the pool. */
  run(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Several statements without values, in one transaction. */
  script(text: string): Promise<void>
  listen(channel: string, hearing: Hearing): Subscription
  /** Opens a connection like those of the pool; `lost` is called once when it ends other than by `close`. */
  session(lost: () => void): Promise<PostgresSession>
  close(): Promise<void>
}

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

/** What the store needs of a client library: a pool of connections, and one that listens. */
export interface PostgresClient {
  /** One statement, which is a transaction of its own, on any connection of the pool. */
  run(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Several statements without values, in one transaction. */
  script(text: string): Promise<void>
  listen(channel: string, hearing: Hearing): Subscription
  close(): Promise<void>
}

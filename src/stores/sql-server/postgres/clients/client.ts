import type { Row } from '../../tables/rows.ts'
/** A dedicated connection, for the state of a session. */
export interface PostgresSession {
  /** The process id that the server reported for the session; null when the client does not tell. */
  readonly pid: number | null
  /** Runs statements one after the other; `often` marks one that is worth preparing. Rejects when the connection ends. */
  query(text: string, values: readonly unknown[], often?: boolean): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface SessionEvents {
  /** Called once when the session ends other than by `close`. */
  lost(): void
  /** Called for each message to a channel that the session listens to. */
  heard?(channel: string, payload: string): void
}

/** The operations that the store needs of a client library. */
export interface PostgresClient {
  /** Runs one statement as a transaction of its own, on any connection. */
  run(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Runs several statements without parameters in one transaction. */
  script(text: string): Promise<void>
  session(events: SessionEvents): Promise<PostgresSession>
  close(): Promise<void>
}

/** A pooler gave us a connection on which the statement is not prepared, or another process prepared it. */
const UNPREPARED = new Set(['26000', '42P05'])

export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.has((error as { code?: string } | null)?.code ?? '')
}

/** True if the server refused a statement and serves the next one. */
export function isAnswer(error: unknown): boolean {
  const { severity } = (error ?? {}) as { severity?: string }
  return severity !== undefined && severity !== 'FATAL' && severity !== 'PANIC'
}

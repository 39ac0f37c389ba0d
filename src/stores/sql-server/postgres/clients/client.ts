import type { Row } from '../../tables/rows.ts'
/** A connection of its own, for what belongs to a session. */
export interface PostgresSession {
  /** What the server said to be the number of the process that serves it; null when the client does not tell. */
  readonly pid: number | null
  /** One statement after the other; `often` for one that is worth preparing. Rejects when the connection ends. */
  query(text: string, values: readonly unknown[], often?: boolean): Promise<readonly Row[]>
  close(): Promise<void>
}

/** What a session tells by itself. */
export interface SessionEvents {
  /** It ended other than by `close`; told once. */
  lost(): void
  /** Something was sent to a channel that it listens to. */
  heard?(channel: string, payload: string): void
}

/** What the store needs of a client library: connections for single statements, and such as are kept. */
export interface PostgresClient {
  /** One statement, which is a transaction of its own, on any connection. */
  run(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Several statements without values, in one transaction. */
  script(text: string): Promise<void>
  session(events: SessionEvents): Promise<PostgresSession>
  close(): Promise<void>
}

/** A pooler gave us a connection on which the statement was never prepared, or was by somebody else. */
const UNPREPARED = new Set(['26000', '42P05'])

export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.has((error as { code?: string } | null)?.code ?? '')
}

/** Whether the server refused a statement, and serves the next one. */
export function isAnswer(error: unknown): boolean {
  const { severity } = (error ?? {}) as { severity?: string }
  return severity !== undefined && severity !== 'FATAL' && severity !== 'PANIC'
}

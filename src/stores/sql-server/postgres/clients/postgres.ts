import { ConnectionLender } from '../../connection-lender.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { Row } from '../../tables/rows.ts'
import { isUnprepared, type PostgresClient, type PostgresSession, type SessionEvents } from './client.ts'
import { openSession } from './postgres-session.ts'
import { PostgresSessionPool } from './session-pool.ts'

/** The used part of what `postgres` makes. */
export interface PostgresJs {
  readonly options: { readonly prepare?: boolean; readonly max: number; readonly connect_timeout: number }
}

/**
 * Opens connections like those of the pool, as many as it may have, and uses none of the pool itself: a connection of the library that
 * broke with unsent data stalls after its reconnect, with everything that waits for it.
 */
export class PostgresJsClient implements PostgresClient {
  private readonly options: PostgresJs['options']
  private readonly timeout: StatementTimeout
  private readonly sessions: PostgresSessionPool
  private readonly lender: ConnectionLender<PostgresSession>
  private prepares: boolean

  constructor({ options }: PostgresJs, timeout: StatementTimeout) {
    this.options = options
    this.timeout = timeout
    this.sessions = new PostgresSessionPool((events) => this.session(events), options.max)
    this.lender = new ConnectionLender(this.sessions, timeout)
    this.prepares = options.prepare !== false
  }

  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const send = () => this.lender.run((session) => session.query(text, values, this.prepares))
    try {
      return await send()
    } catch (error) {
      if (!this.prepares || !isUnprepared(error)) throw error
      this.prepares = false
      return await send()
    }
  }

  async script(text: string): Promise<void> {
    await this.lender.run((session) => session.query(text, []))
  }

  session(events: SessionEvents): Promise<PostgresSession> {
    const connect_timeout = Math.min(this.options.connect_timeout, this.timeout.ms / 1000)
    return openSession({ ...this.options, connect_timeout }, events, this.timeout)
  }

  close(): Promise<void> {
    return this.sessions.close()
  }
}

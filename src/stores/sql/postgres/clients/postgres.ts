import type { Hearing, PostgresClient, PostgresSession, Row, Subscription } from './client.ts'
import { openSession } from './postgres-session.ts'

interface Pending extends Promise<readonly Row[]> {
  simple(): Promise<unknown>
}

/** As much of what `postgres` makes as is needed. */
export interface PostgresJs {
  readonly options: { readonly prepare?: boolean }
  unsafe(text: string, values?: unknown[], options?: { prepare: boolean }): Pending
  listen(
    channel: string,
    message: (payload: string) => void,
    up: () => void,
  ): Promise<{ unlisten(): Promise<void> }>
  end(options?: { timeout: number }): Promise<void>
}

/** A pooler gave us a connection on which the statement was never prepared, or was by somebody else. */
const UNPREPARED = new Set(['26000', '42P05'])

/** It prepares statements under names of its own, and makes its listening connection again by itself. */
export class PostgresJsClient implements PostgresClient {
  private readonly sql: PostgresJs
  private readonly own: boolean
  private prepares: boolean

  constructor(sql: PostgresJs, own: boolean) {
    this.sql = sql
    this.own = own
    this.prepares = sql.options.prepare !== false
  }

  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const sent = values.map((value) => (Array.isArray(value) ? literalOf(value) : value))
    const send = () => this.sql.unsafe(text, sent, { prepare: this.prepares })
    try {
      return await send()
    } catch (error) {
      if (!this.prepares || !UNPREPARED.has((error as { code?: string }).code ?? '')) throw error
      this.prepares = false
      return await send()
    }
  }

  async script(text: string): Promise<void> {
    await this.sql.unsafe(text).simple()
  }

  listen(channel: string, hearing: Hearing): Subscription {
    const listening = this.sql.listen(
      channel,
      (payload) => hearing.message(payload),
      () => hearing.up(),
    )
    // Without it, whoever waits looks again by itself.
    const begun = listening.catch(() => null)
    // Not waited for: while its connection is away, the library answers when it is back, or never.
    return { close: async () => void begun.then((it) => it?.unlisten()).catch(() => {}) }
  }

  async session(lost: () => void): Promise<PostgresSession> {
    return openSession(this.sql.options, lost)
  }

  async close(): Promise<void> {
    if (this.own) await this.sql.end({ timeout: 5 })
  }
}

/** An array as PostgreSQL writes it. The library knows arrays only when it was left to ask the server for their types. */
function literalOf(values: readonly unknown[]): string {
  const items = values.map((value) =>
    typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value ?? 'NULL'),
  )
  return `{${items.join(',')}}`
}

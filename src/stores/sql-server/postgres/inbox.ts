import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { decodeNotification } from '../../shared/notifications.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { type InboxTable, PolledInbox } from '../tables/inbox.ts'
import type { ServerInbox } from '../tables/store.ts'
import type { PostgresClient } from './clients/client.ts'
import { Listener } from './listener.ts'

const ECHO = 'echo'
/** A claim's first answer is not held back for longer, and an echo that has not come by then never will. */
const ECHO_MS = 1000

/** An inbox that begins so is not listened to: only word is left there. */
export const POLLED = 'mail:'

/** The channel of an inbox: no name that somebody else would give to one. */
export function channelOf(inbox: string): string {
  return `holdfast:${inbox}`
}

/**
 * What the database tells this process, on a connection of its own. A pooler may take the request to listen and never bring
 * anything, so it counts only when a message to ourselves has come back.
 */
export class PostgresInbox implements ServerInbox {
  readonly address: string
  /** Looked at as long as nothing is heard, as behind a pooler. */
  private readonly mail: PolledInbox
  starting: Promise<void> | null = null
  private readonly sender: PostgresClient
  private readonly listener: PostgresClient
  private readonly runtime: Runtime
  private readonly timeout: StatementTimeout
  private hearer: Listener | null = null
  private heard: (on: boolean) => void = () => {}
  private begun: () => void = () => {}
  private timer: Timer | null = null

  constructor(
    sender: PostgresClient,
    listener: PostgresClient,
    table: InboxTable,
    runtime: Runtime,
    timeout: StatementTimeout,
  ) {
    this.sender = sender
    this.listener = listener
    this.runtime = runtime
    this.timeout = timeout
    this.address = runtime.newId()
    this.mail = new PolledInbox(table, this.address, runtime)
  }

  start(deliver: (notice: StoreNotice) => void, heard: (on: boolean) => void): void {
    this.mail.start(deliver)
    this.heard = (on) => {
      this.mail.switch(!on)
      heard(on)
    }
    this.starting = new Promise((resolve) => {
      this.begun = () => {
        this.timer?.clear()
        this.starting = null
        resolve()
      }
    })
    this.timer = this.runtime.setTimer(this.begun, ECHO_MS, true)
    const message = (payload: string): void => {
      if (payload === ECHO) this.echoed()
      else {
        const notice = decodeNotification(payload)
        if (notice !== null) deliver(notice)
      }
    }
    const down = () => this.heard(false)
    const hearing = { message, up: () => this.call(), down }
    this.hearer = new Listener(this.listener, channelOf(this.address), hearing, this.runtime, this.timeout)
  }

  held(id: string, ttlMs: number): void {
    this.mail.held(id, ttlMs)
  }

  async close(): Promise<void> {
    this.begun()
    this.heard = () => {}
    await this.mail.close()
    await this.hearer?.close()
    if (this.listener !== this.sender) await this.listener.close()
  }

  /** Through the pool, as letters come. */
  private call(): void {
    const sent = this.sender.run('SELECT pg_notify($1, $2)::text', [channelOf(this.address), ECHO])
    sent.catch(() => {})
  }

  private echoed(): void {
    this.begun()
    this.heard(true)
  }
}

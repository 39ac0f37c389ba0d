import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { decodeNotification } from '../../shared/notifications.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { type InboxTable, PolledInbox } from '../tables/inbox.ts'
import type { ServerInbox } from '../tables/store.ts'
import type { PostgresClient } from './clients/client.ts'
import { PostgresListener } from './listener.ts'

const ECHO = 'echo'
/** The first answer to a claim waits for the echo for no longer than this. */
const ECHO_MS = 1000

/** The prefix of an inbox that only polls. */
export const POLLED = 'mail:'

/** The channel of an inbox; the prefix keeps clear of other programs. */
export function channelOf(inbox: string): string {
  return `holdfast:${inbox}`
}

/**
 * Receives the notifications of this process on a connection of its own. A pooler may accept the request to listen and never
 * deliver anything, so push counts as working only after a message to ourselves has come back.
 */
export class PostgresInbox implements ServerInbox {
  readonly address: string
  /** Polled as long as push does not work, as behind a pooler. */
  private readonly polled: PolledInbox
  starting: Promise<void> | null = null
  private readonly sender: PostgresClient
  private readonly listener: PostgresClient
  private readonly runtime: Runtime
  private readonly timeout: StatementTimeout
  private listening: PostgresListener | null = null
  private pushed: (on: boolean) => void = () => {}
  private started: () => void = () => {}
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
    this.polled = new PolledInbox(table, this.address, runtime)
  }

  start(deliver: (notice: StoreNotice) => void, pushed: (on: boolean) => void): void {
    this.polled.start(deliver)
    this.pushed = (on) => {
      this.polled.switch(!on)
      pushed(on)
    }
    this.starting = new Promise((resolve) => {
      this.started = () => {
        this.timer?.clear()
        this.starting = null
        resolve()
      }
    })
    this.timer = this.runtime.setTimer(this.started, ECHO_MS, true)
    const message = (payload: string): void => {
      if (payload === ECHO) this.echoed()
      else {
        const notice = decodeNotification(payload)
        if (notice !== null) deliver(notice)
      }
    }
    const down = () => this.pushed(false)
    const events = { message, up: () => this.sendEcho(), down }
    this.listening = new PostgresListener(
      this.listener,
      channelOf(this.address),
      events,
      this.runtime,
      this.timeout,
    )
  }

  held(id: string, ttlMs: number): void {
    this.polled.held(id, ttlMs)
  }

  async close(): Promise<void> {
    this.started()
    this.pushed = () => {}
    await this.polled.close()
    await this.listening?.close()
    if (this.listener !== this.sender) await this.listener.close()
  }

  /** Sends the echo through the pool, as notifications are sent. */
  private sendEcho(): void {
    const sent = this.sender.run('SELECT pg_notify($1, $2)::text', [channelOf(this.address), ECHO])
    sent.catch(() => {})
  }

  private echoed(): void {
    this.started()
    this.pushed(true)
  }
}

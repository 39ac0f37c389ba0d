import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import type { PostgresClient, PostgresSession } from './clients/client.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/** The interval of the checks whether the connection still answers. */
const CHECK_MS = 3000

export interface ListenerEvents {
  message(payload: string): void
  /** It has begun to listen, or does so again. */
  up(): void
  down(): void
}

/** One connection that listens to one channel, and is replaced when it breaks. */
export class PostgresListener {
  private readonly client: PostgresClient
  private readonly channel: string
  private readonly events: ListenerEvents
  private readonly runtime: Runtime
  private readonly timeout: StatementTimeout
  private session: PostgresSession | null = null
  private timer: Timer | null = null
  private pauseMs = FIRST_PAUSE_MS
  private closed = false

  constructor(
    client: PostgresClient,
    channel: string,
    hearing: ListenerEvents,
    runtime: Runtime,
    timeout: StatementTimeout,
  ) {
    this.client = client
    this.channel = channel
    this.events = hearing
    this.runtime = runtime
    this.timeout = timeout
    void this.connect()
  }

  /** A connection that is just being opened is closed later: an unreachable server would delay us. */
  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
    const { session } = this
    this.session = null
    await session?.close().catch(ignore)
  }

  private async connect(): Promise<void> {
    let session: PostgresSession | null = null
    let isLost = false
    try {
      session = await this.client.session({
        lost: () => {
          isLost = true
          this.lost(session)
        },
        heard: (channel, payload) => {
          if (channel === this.channel) this.events.message(payload)
        },
      })
      // The channel has letters, digits, and a colon that needs quotes.
      if (!this.closed) await this.ask(session, `LISTEN "${this.channel}"`)
    } catch {
      isLost = true
    }
    if (session === null || isLost || this.closed) {
      session?.close().catch(ignore)
      if (!this.closed) this.again()
      return
    }
    this.session = session
    this.pauseMs = FIRST_PAUSE_MS
    this.check(session)
    this.events.up()
  }

  /** Checks now and then: the end of a peer that vanished is not reported. */
  private check(session: PostgresSession): void {
    this.timer = this.runtime.setTimer(
      () => {
        this.ask(session, 'SELECT 1').then(
          () => {
            if (this.session === session) this.check(session)
          },
          () => this.lost(session),
        )
      },
      CHECK_MS,
      true,
    )
  }

  /** Rejects without an answer in time; the caller then ends the session. */
  private ask(session: PostgresSession, text: string): Promise<unknown> {
    return this.timeout.bound(session.query(text, []), ignore)
  }

  private lost(session: PostgresSession | null): void {
    if (session === null || this.session !== session) return
    this.session = null
    this.timer?.clear()
    session.close().catch(ignore)
    this.events.down()
    this.again()
  }

  private again(): void {
    const delayMs = this.pauseMs * (0.5 + this.runtime.random())
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS)
    this.timer = this.runtime.setTimer(() => void this.connect(), delayMs, true)
  }
}

function ignore(): void {}

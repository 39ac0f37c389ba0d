import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Hearing, Subscription } from './clients/client.ts'
import type { PgConnection } from './clients/pg.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/** A connection that says nothing for that long is asked whether it is still there. */
const CHECK_MS = 15_000

/** One connection that listens to one channel, and is made again when it breaks. */
export class Hearer implements Subscription {
  private readonly open: () => PgConnection
  private readonly channel: string
  private readonly hearing: Hearing
  private readonly runtime: Runtime
  private connection: PgConnection | null = null
  private timer: Timer | null = null
  private pauseMs = FIRST_PAUSE_MS
  private closed = false

  constructor(open: () => PgConnection, channel: string, hearing: Hearing, runtime: Runtime) {
    this.open = open
    this.channel = channel
    this.hearing = hearing
    this.runtime = runtime
    void this.connect()
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
    const { connection } = this
    this.connection = null
    await connection?.end().catch(ignore)
  }

  private async connect(): Promise<void> {
    const connection = this.open()
    this.connection = connection
    connection.on('error', () => this.lost(connection))
    connection.on('end', () => this.lost(connection))
    connection.on('notification', ({ channel, payload }: { channel: string; payload?: string }) => {
      if (channel === this.channel) this.hearing.message(payload ?? '')
    })
    try {
      await connection.connect()
      // The name is ours: letters, digits, and a colon that has to be quoted.
      await connection.query(`LISTEN "${this.channel}"`)
    } catch {
      this.lost(connection)
      return
    }
    if (this.connection !== connection) return
    this.pauseMs = FIRST_PAUSE_MS
    this.check(connection)
    this.hearing.up()
  }

  /** Nobody tells of a connection whose other end has gone without a word. */
  private check(connection: PgConnection): void {
    this.timer = this.runtime.setTimer(
      () => {
        this.timer = this.runtime.setTimer(() => this.lost(connection), CHECK_MS, true)
        connection.query('SELECT 1').then(
          () => {
            if (this.connection !== connection) return
            this.timer?.clear()
            this.check(connection)
          },
          () => this.lost(connection),
        )
      },
      CHECK_MS,
      true,
    )
  }

  private lost(connection: PgConnection): void {
    if (this.connection !== connection) return
    this.connection = null
    this.timer?.clear()
    connection.end().catch(ignore)
    if (this.closed) return
    this.hearing.down()
    const delayMs = this.pauseMs * (0.5 + this.runtime.random())
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS)
    this.timer = this.runtime.setTimer(() => void this.connect(), delayMs, true)
  }
}

function ignore(): void {}

import { isOutOfConnections, isReadOnly, outOfConnections, readOnly } from './server-errors.ts'
import type { StatementTimeout } from './statement-timeout.ts'

/** A pool that gives a connection to one statement at a time. */
export interface ConnectionSource<C> {
  /** True if `noteAnswer` is called for each new connection; otherwise an unknown connection may be an old one. */
  readonly announces: boolean
  take(): Promise<C>
  /** `error` is the failure of the statement, if it failed. */
  giveBack(connection: C, error?: unknown): void
  /** Ends a connection that does not answer, or not as it should, so that the pool opens another in its place. */
  destroy(connection: C): void
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000
/** The rest of the time is for the statement and its answer. */
const SHARE_OF_TIMEOUT = 0.6

/** Counts answers on all connections: stores may share a pool. */
let answers = 0
const answeredAt = new WeakMap<object, number>()

/** The server has just answered on that connection. */
export function noteAnswer(connection: object): void {
  answeredAt.set(connection, ++answers)
}

/**
 * Lends a connection of a pool to one statement. A connection that does not answer in time is ended. So is, without another
 * wait, every connection whose last answer came before that statement was sent: a partition silences all of them. A read-only
 * server is treated alike: after a failover another connection may reach the new primary.
 */
export class ConnectionLender<C extends object> {
  private readonly pool: ConnectionSource<C>
  private readonly timeout: StatementTimeout
  private silentSince = -1

  constructor(pool: ConnectionSource<C>, timeout: StatementTimeout) {
    this.pool = pool
    this.timeout = timeout
  }

  run<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const loan: Loan<C> = { connection: null, sentAt: 0, late: false }
    return this.timeout.bound(this.lend(loan, work), () => {
      loan.late = true
      if (loan.connection === null) return
      this.silentSince = Math.max(this.silentSince, loan.sentAt)
      this.pool.destroy(loan.connection)
    })
  }

  private async lend<T>(loan: Loan<C>, work: (connection: C) => Promise<T>): Promise<T> {
    const connection = await this.take(loan)
    loan.connection = connection
    loan.sentAt = answers
    try {
      const value = await work(connection)
      noteAnswer(connection)
      if (!loan.late) this.pool.giveBack(connection)
      return value
    } catch (error) {
      const refused = isReadOnly(error)
      if (refused) this.silentSince = Math.max(this.silentSince, loan.sentAt)
      if (!loan.late) {
        if (refused) this.pool.destroy(connection)
        else this.pool.giveBack(connection, error)
      }
      throw refused ? readOnly(error) : error
    }
  }

  private async take(loan: Loan<C>): Promise<C> {
    for (;;) {
      const connection = await this.open(loan)
      if (loan.late) {
        this.pool.giveBack(connection)
        throw new Error('nobody waits for the connection any more')
      }
      if (this.isTrusted(connection)) return connection
      this.pool.destroy(connection)
    }
  }

  /** Retries with backoff while the server is out of connections: nothing was sent yet, so nothing is unknown. */
  private async open(loan: Loan<C>): Promise<C> {
    const giveUpMs = this.timeout.ms * SHARE_OF_TIMEOUT
    let waitedMs = 0
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.pool.take()
      } catch (error) {
        if (!isOutOfConnections(error)) throw error
        if (loan.late || waitedMs >= giveUpMs) throw outOfConnections(error)
        waitedMs += await this.timeout.pause(pauseMs)
      }
    }
  }

  private isTrusted(connection: C): boolean {
    const unknown = this.pool.announces ? 0 : Number.POSITIVE_INFINITY
    return (answeredAt.get(connection) ?? unknown) > this.silentSince
  }
}

interface Loan<C> {
  connection: C | null
  /** The number of answers on all connections before the statement. */
  sentAt: number
  late: boolean
}

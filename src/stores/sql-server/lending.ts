import { StoreError } from '../../errors.ts'
import { crowded, isCrowded } from './crowded.ts'
import type { Patience } from './patience.ts'

/** Where connections come from, each for one statement. */
export interface Pool<C> {
  /** Whether `noteHeard` is told of each new connection; else nothing is known of one that comes for the first time. */
  readonly announces: boolean
  take(): Promise<C>
  /** `error` is what the statement brought, if it failed. */
  giveBack(connection: C, error?: unknown): void
  /** Ends a connection that does not answer, or not as it should, so that the pool opens another in its place. */
  destroy(connection: C): void
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000
/** The rest of the time is for the statement, and for telling of it. */
const SHARE_OF_PATIENCE = 0.6

/** Counts what is heard on connections. It is shared, because stores may share a pool. */
let moment = 0
const heardAt = new WeakMap<object, number>()

/** The server has just answered on that connection. */
export function noteHeard(connection: object): void {
  heardAt.set(connection, ++moment)
}

/**
 * Lends a connection of a pool to one statement. A connection that does not answer in time is ended. So is, without another
 * wait, every one on which the server was last heard before that statement was sent: a partition silences all of them. A server
 * that refuses to write is left in the same way: after a failover another connection may reach the new primary.
 */
export class Lending<C extends object> {
  private readonly pool: Pool<C>
  private readonly patience: Patience
  private silentSince = -1

  constructor(pool: Pool<C>, patience: Patience) {
    this.pool = pool
    this.patience = patience
  }

  use<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const loan: Loan<C> = { connection: null, sentAt: 0, late: false }
    return this.patience.bound(this.lend(loan, work), () => {
      loan.late = true
      if (loan.connection === null) return
      this.silentSince = Math.max(this.silentSince, loan.sentAt)
      this.pool.destroy(loan.connection)
    })
  }

  private async lend<T>(loan: Loan<C>, work: (connection: C) => Promise<T>): Promise<T> {
    const connection = await this.take(loan)
    loan.connection = connection
    loan.sentAt = moment
    try {
      const value = await work(connection)
      noteHeard(connection)
      if (!loan.late) this.pool.giveBack(connection)
      return value
    } catch (error) {
      const readOnly = isReadOnly(error)
      if (readOnly) this.silentSince = Math.max(this.silentSince, loan.sentAt)
      if (!loan.late) {
        if (readOnly) this.pool.destroy(connection)
        else this.pool.giveBack(connection, error)
      }
      throw readOnly ? new StoreError(READ_ONLY, { cause: error }) : error
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

  /** A server that takes no more connections is asked again, later and later: nothing was sent yet, so nothing is unknown. */
  private async open(loan: Loan<C>): Promise<C> {
    const giveUpMs = this.patience.ms * SHARE_OF_PATIENCE
    let waitedMs = 0
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.pool.take()
      } catch (error) {
        if (!isCrowded(error)) throw error
        if (loan.late || waitedMs >= giveUpMs) throw crowded(error)
        waitedMs += await this.patience.pause(pauseMs)
      }
    }
  }

  private isTrusted(connection: C): boolean {
    const unknown = this.pool.announces ? 0 : Number.POSITIVE_INFINITY
    return (heardAt.get(connection) ?? unknown) > this.silentSince
  }
}

/** How PostgreSQL, MariaDB and MySQL refuse to write. */
const READ_ONLY_CODES: ReadonlySet<unknown> = new Set(['25006', 1290, 1792, 1836])

const READ_ONLY =
  'the database server is read-only, so nothing was done: it is a standby or a replica, or it was told to refuse writes'

function isReadOnly(error: unknown): boolean {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  return READ_ONLY_CODES.has(code) || READ_ONLY_CODES.has(errno)
}

interface Loan<C> {
  connection: C | null
  /** The last that was heard on any connection before the statement. */
  sentAt: number
  late: boolean
}

import { StoreError } from '../../../../errors.ts'
import type { ConnectionSource } from '../../connection-lender.ts'
import type { PostgresSession, SessionEvents } from './client.ts'

type Open = (events: SessionEvents) => Promise<PostgresSession>
/** Takes a session that became free, or null: then the waiting caller may open another. */
type Turn = (session: PostgresSession | null) => void

/** A pool of sessions. A broken session is never used again: another is opened when it is needed. */
export class PostgresSessionPool implements ConnectionSource<PostgresSession> {
  readonly announces = false
  private readonly open: Open
  private readonly most: number
  private readonly idle: PostgresSession[] = []
  private readonly alive = new Set<PostgresSession>()
  private readonly turns: Turn[] = []
  /** The number of sessions that are being opened, or are about to be. */
  private opening = 0
  private closed = false

  constructor(open: Open, most: number) {
    this.open = open
    this.most = most
  }

  /** Ends busy sessions too. */
  async close(): Promise<void> {
    this.closed = true
    while (this.turns.length > 0) this.passOn()
    await Promise.all([...this.alive].map((session) => session.close()))
  }

  async take(): Promise<PostgresSession> {
    const idle = this.idle.pop()
    if (idle !== undefined) return idle
    if (this.alive.size + this.opening < this.most) {
      this.opening++
      return this.make()
    }
    const session = await new Promise<PostgresSession | null>((resolve) => this.turns.push(resolve))
    return session ?? this.make()
  }

  /** Opens a session that `opening` already counts. */
  private async make(): Promise<PostgresSession> {
    let session: PostgresSession | null = null
    let isLost = false
    try {
      if (this.closed) throw new StoreError('the store is closed')
      session = await this.open({
        lost: () => {
          isLost = true
          if (session !== null) this.lose(session)
        },
      })
    } finally {
      this.opening--
      // The session may have broken already.
      if (session !== null && !isLost) this.alive.add(session)
      else this.passOn()
    }
    if (this.closed) await session.close()
    return session
  }

  giveBack(session: PostgresSession): void {
    if (!this.alive.has(session)) return
    const turn = this.turns.shift()
    if (turn === undefined) this.idle.push(session)
    else turn(session)
  }

  destroy(session: PostgresSession): void {
    this.lose(session)
    session.close().catch(() => {})
  }

  private lose(session: PostgresSession): void {
    if (!this.alive.delete(session)) return
    const place = this.idle.indexOf(session)
    if (place >= 0) this.idle.splice(place, 1)
    this.passOn()
  }

  /** Lets the next waiting caller open a session. */
  private passOn(): void {
    const turn = this.turns.shift()
    if (turn === undefined) return
    this.opening++
    turn(null)
  }
}

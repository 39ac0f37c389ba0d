import { StoreError } from '../../../../errors.ts'
import type { PostgresSession, SessionEvents } from './client.ts'

type Open = (events: SessionEvents) => Promise<PostgresSession>
/** Takes a session that became free, or null for leave to open one. */
type Turn = (session: PostgresSession | null) => void

/** Up to so many sessions that take turns. One that broke is never used again: another is opened when it is needed. */
export class Sessions {
  private readonly open: Open
  private readonly most: number
  private readonly idle: PostgresSession[] = []
  private readonly alive = new Set<PostgresSession>()
  private readonly turns: Turn[] = []
  private opening = 0
  private closed = false

  constructor(open: Open, most: number) {
    this.open = open
    this.most = most
  }

  async use<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = await this.take()
    try {
      return await work(session)
    } finally {
      this.giveBack(session)
    }
  }

  /** Those at work are ended, too: nobody waits for what they would say. */
  async close(): Promise<void> {
    this.closed = true
    for (const turn of this.turns.splice(0)) turn(null)
    await Promise.all([...this.alive].map((session) => session.close()))
  }

  private async take(): Promise<PostgresSession> {
    const idle = this.idle.pop()
    if (idle !== undefined) return idle
    if (this.alive.size + this.opening < this.most) return this.make()
    const session = await new Promise<PostgresSession | null>((resolve) => this.turns.push(resolve))
    return session ?? this.make()
  }

  private async make(): Promise<PostgresSession> {
    if (this.closed) throw new StoreError('the store is closed')
    this.opening++
    let session: PostgresSession | null = null
    try {
      session = await this.open({ lost: () => this.lose(session) })
    } finally {
      this.opening--
      if (session === null) this.turns.shift()?.(null)
    }
    this.alive.add(session)
    if (this.closed) await session.close()
    return session
  }

  private giveBack(session: PostgresSession): void {
    if (!this.alive.has(session)) return
    const turn = this.turns.shift()
    if (turn === undefined) this.idle.push(session)
    else turn(session)
  }

  private lose(session: PostgresSession | null): void {
    if (session === null || !this.alive.delete(session)) return
    const place = this.idle.indexOf(session)
    if (place >= 0) this.idle.splice(place, 1)
    this.turns.shift()?.(null)
  }
}

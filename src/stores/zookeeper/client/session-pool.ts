import type { LockSession } from './lock-session.ts'

/**
 * When a session ends, ZooKeeper writes the paths of all its nodes into one transaction. If that exceeds `jute.maxbuffer`, no
 * server can read it again, and the ensemble cannot restart (ZOOKEEPER-4306). Half of the default leaves room for a group,
 * whose nodes are all in one session.
 */
export const BYTES_PER_SESSION = 500_000

/** The sessions with one timeout: as many as the paths of their nodes need. */
export class SessionPool {
  /** The requested timeout; the ensemble may grant another. */
  readonly timeoutMs: number
  readonly sessions = new Set<LockSession>()
  private readonly withRoom = new Set<LockSession>()

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
  }

  /** The oldest session with room, so that later ones become empty as the nodes become fewer. */
  get open(): LockSession | undefined {
    for (const session of this.withRoom) return session
    return undefined
  }

  add(session: LockSession): void {
    this.sessions.add(session)
    this.withRoom.add(session)
  }

  remove(session: LockSession): boolean {
    this.withRoom.delete(session)
    return this.sessions.delete(session)
  }

  charge(session: LockSession, bytes: number): void {
    session.bytes += bytes
    if (session.bytes >= BYTES_PER_SESSION) this.withRoom.delete(session)
  }

  refund(session: LockSession, bytes: number): void {
    session.bytes -= bytes
    if (session.bytes < BYTES_PER_SESSION && this.sessions.has(session)) this.withRoom.add(session)
  }
}

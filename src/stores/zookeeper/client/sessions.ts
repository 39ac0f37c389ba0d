import type { Runtime, Timer } from '../../../core/runtime.ts'
import { answeredWithin } from '../../../core/runtime.ts'
import type { Soon } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'
import { Paths } from '../names.ts'
import { ZooKeeperClient } from './client.ts'
import { EnsembleClock } from './clock.ts'
import type { Server } from './connection.ts'
import { isWire } from './errors.ts'
import { LockSession } from './lock-session.ts'
import type { Acl } from './protocol.ts'
import { makeRootNodes } from './root-nodes.ts'
import type { SessionOptions } from './session.ts'
import { SessionPool } from './session-pool.ts'

export interface EnsembleOptions {
  readonly servers: readonly Server[]
  readonly auth: SessionOptions['auth']
  readonly tls: SessionOptions['tls']
  readonly runtime: Runtime
}

const EVERYTHING = 31
const ANYONE: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'world', id: 'anyone' }]
/** Only the creator of a node, by the credentials of its session. */
const CREATOR: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'auth', id: '' }]
/** A closed store waits this long for the deletion of its nodes; the rest is deleted after a reconnect. */
const LEAVE_MS = 1000

/** Below the least timeout of any ensemble, so that the ensemble grants its least. */
const LEAST_MS = 1
/** A busy machine may stall for the whole timeout of a short session before it reads the first answers. */
const PREPARE_TRIES = 5
/** Timeouts are rounded up by an eighth at most, so that there are few classes. */
const STEPS_PER_DOUBLING = 8
const IDLE_MS = 15_000
/** Longer than a caller takes from getting a session to using it, and from one request to the next. */
const FAREWELL_MS = 500

/** The least timeout of an ensemble, by its servers: learned once per process. */
const LEAST = new Map<string, number>()

/**
 * The sessions of a process. The nodes of a dead process live for the timeout of their session, so there is a pool for each class
 * of ttl. Sessions open on demand and close after they have been empty for a while. Requests that leave no node use any session,
 * or a shortest one.
 */
export class SessionPools {
  readonly runtime: Runtime
  readonly paths: Paths
  readonly acl: readonly Acl[]
  readonly clock: EnsembleClock
  private readonly options: EnsembleOptions
  private readonly ensemble: string
  private readonly pools = new Map<number, SessionPool>()
  /** The number of sessions in all pools. */
  private count = 0
  /** The number of stores that share them. */
  private users = 0
  /** The last store was closed. */
  isOver = false
  private rootNodes: Promise<void> | null = null
  /** A removed session that stays open while its last callers may use it. */
  private leaving: { readonly session: LockSession; readonly timer: Timer } | null = null
  private idling: Timer | null = null
  private mostMs = Number.POSITIVE_INFINITY

  constructor(options: EnsembleOptions, chroot: string) {
    this.options = options
    this.runtime = options.runtime
    this.paths = new Paths(chroot)
    this.acl = options.auth === null ? ANYONE : CREATOR
    this.clock = new EnsembleClock(options.runtime)
    this.ensemble = options.servers.map(({ host, port }) => `${host}:${port}`).join(',')
  }

  /** Counts one more store, which calls `close` once. */
  use(): void {
    this.users++
  }

  /** A session that requests can be sent through. */
  any(): Soon<LockSession> {
    for (const session of this.all()) {
      if (!session.isUsable || !session.isPrepared) continue
      session.usedAtMs = this.options.runtime.nowMs()
      return session
    }
    const [known] = this.all()
    return this.connect(known ?? this.inClass(LEAST_MS))
  }

  /**
   * A session whose nodes live for at least `lifeMs` after its last sign of life, with room for paths of that many bytes.
   * Counts the bytes until `giveBack`, unless it rejects.
   */
  forLife(lifeMs: number, bytes: number): Soon<LockSession> {
    if (this.leastMs === 0)
      return this.connect(this.inClass(LEAST_MS)).then(() => this.forLife(lifeMs, bytes))
    if (this.neededMs(lifeMs) > this.mostMs) return Promise.reject(this.tooLong(lifeMs))
    const session = this.inClass(this.classOf(lifeMs))
    session.pool.charge(session, bytes)
    return session.isUsable && session.isPrepared ? session : this.open(session, lifeMs, bytes)
  }

  /** Frees the bytes of nodes that are gone, or were never made. */
  giveBack(session: LockSession, bytes: number): void {
    session.pool.refund(session, bytes)
    if (session.bytes > 0) return
    session.usedAtMs = this.options.runtime.nowMs()
    this.watchIdle()
  }

  /** True if a session's nodes live for `lifeMs`. */
  suffices(session: LockSession, lifeMs: number): boolean {
    return session.client.session.timeoutMs >= this.neededMs(lifeMs)
  }

  /** Breaks every connection, for tests; the sessions go on. */
  disconnect(): void {
    for (const { client } of this.all()) client.session.disconnect()
  }

  /** Makes the root nodes again if they were deleted. */
  prepareAgain({ client }: LockSession): Promise<void> {
    this.rootNodes = makeRootNodes(client, this.paths, this.acl)
    return this.rootNodes
  }

  /**
   * Closes a store. It deletes its own nodes while other stores use the sessions; the last one closes the sessions, except that a
   * session that keeps a key closed ends by its timeout.
   */
  async close(deleteNodes: () => Promise<unknown>): Promise<void> {
    this.users--
    this.isOver = this.users === 0
    if (this.isOver) await this.closeAll()
    else await answeredWithin(deleteNodes(), LEAVE_MS, this.runtime).catch(() => {})
  }

  private async closeAll(): Promise<void> {
    this.idling?.clear()
    this.leaving?.timer.clear()
    await this.leaving?.session.client.session.close()
    const closing = [...this.all()].map(({ client, claims }) => {
      return client.session.close([...claims].some(({ phase }) => phase === 'closed'))
    })
    await Promise.all(closing)
  }

  private *all(): Iterable<LockSession> {
    for (const { sessions } of this.pools.values()) yield* sessions
  }

  /** A session of that timeout with room, connected or not. */
  private inClass(timeoutMs: number): LockSession {
    let pool = this.pools.get(timeoutMs)
    if (pool === undefined) {
      pool = new SessionPool(timeoutMs)
      this.pools.set(timeoutMs, pool)
    }
    return pool.open ?? this.make(pool)
  }

  private remove(session: LockSession): void {
    const { pool } = session
    if (!pool.remove(session)) return
    this.count--
    if (pool.sessions.size === 0) this.pools.delete(pool.timeoutMs)
  }

  private async open(session: LockSession, lifeMs: number, bytes: number): Promise<LockSession> {
    try {
      await this.connect(session)
      const agreedMs = session.client.session.timeoutMs
      if (agreedMs < session.pool.timeoutMs) this.mostMs = agreedMs
      if (agreedMs < this.neededMs(lifeMs)) {
        this.remove(session)
        await session.client.session.close()
        throw this.tooLong(lifeMs)
      }
    } catch (error) {
      this.giveBack(session, bytes)
      throw error
    }
    if (session.pool.timeoutMs !== LEAST_MS) this.dropProbe()
    return session
  }

  private async connect(session: LockSession): Promise<LockSession> {
    session.usedAtMs = this.options.runtime.nowMs()
    let tries = 1
    while (!(await this.prepare(session, tries))) tries++
    return session
  }

  /** False to try again: a lost connection may be retried, because making the root nodes twice is harmless. */
  private async prepare(session: LockSession, tries: number): Promise<boolean> {
    await session.ready()
    if (session.pool.timeoutMs === LEAST_MS) LEAST.set(this.ensemble, session.client.session.timeoutMs)
    this.rootNodes ??= makeRootNodes(session.client, this.paths, this.acl)
    try {
      await this.rootNodes
    } catch (error) {
      this.rootNodes = null
      if (tries < PREPARE_TRIES && isWire(error, 'ConnectionLoss')) return false
      throw error
    }
    session.isPrepared = true
    return true
  }

  private make(pool: SessionPool): LockSession {
    const { timeoutMs } = pool
    const clientOf = (session: LockSession) =>
      new ZooKeeperClient(
        { ...this.options, timeoutMs },
        {
          connected: () => session.reconnected(),
          disconnected: () => {},
          expired: () => {
            this.remove(session)
            session.expired()
          },
        },
      )
    const session = new LockSession(clientOf, pool, this.paths.root, this.options.runtime)
    pool.add(session)
    this.count++
    return session
  }

  private get leastMs(): number {
    return LEAST.get(this.ensemble) ?? 0
  }

  /**
   * The timeout for that life. A server reports its sessions to the leader every half tick (by default a quarter of the least
   * timeout), and we ping every tenth of the timeout: when a server dies, the leader's knowledge may be older by both.
   */
  private neededMs(lifeMs: number): number {
    return (lifeMs + this.leastMs / 4) / 0.9
  }

  private classOf(lifeMs: number): number {
    const neededMs = this.neededMs(lifeMs)
    if (neededMs <= this.leastMs) return LEAST_MS
    const step = 2 ** Math.floor(Math.log2(neededMs)) / STEPS_PER_DOUBLING
    return Math.min(Math.ceil(Math.ceil(neededMs / step) * step), this.mostMs)
  }

  /** Closes the session that learned the least timeout, which pings most often, if no claim has used it. */
  private dropProbe(): void {
    const session = this.pools.get(LEAST_MS)?.open
    if (session === undefined || session.hasServed || session.bytes > 0 || this.leaving !== null) return
    this.remove(session)
    this.closeSoon(session)
  }

  private closeSoon(session: LockSession): void {
    const end = (): void => {
      if (session.client.session.isBusy) this.closeSoon(session)
      else void session.client.session.close()
    }
    this.leaving = { session, timer: this.options.runtime.setTimer(end, FAREWELL_MS, true) }
  }

  /** One timer closes all idle sessions. */
  private watchIdle(): void {
    if (this.idling !== null || this.count === 1) return
    this.idling = this.options.runtime.setTimer(() => this.dropIdle(), IDLE_MS, true)
  }

  /** Keeps one session for the next request. */
  private dropIdle(): void {
    this.idling = null
    const nowMs = this.options.runtime.nowMs()
    for (const session of [...this.all()]) {
      if (session.bytes > 0 || this.count === 1) continue
      if (session.client.session.isBusy || nowMs - session.usedAtMs < IDLE_MS) {
        this.watchIdle()
        continue
      }
      this.remove(session)
      void session.client.session.close()
    }
  }

  private tooLong(lifeMs: number): UnsupportedError {
    const needed = Math.ceil(this.neededMs(lifeMs))
    return new UnsupportedError(
      `a ttl (with its lock delay) of ${lifeMs} ms needs a session of ${needed} ms, but this ensemble of ZooKeeper ` +
        `agrees to ${this.mostMs} ms at most: choose a shorter ttl, or raise maxSessionTimeout`,
    )
  }
}

import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Soon } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'
import { EnsembleClock } from '../clock.ts'
import { LockSession } from './lock-session.ts'
import { Paths } from '../names.ts'
import { prepare } from './prepare.ts'
import { SessionPool } from './session-pool.ts'
import { ZooKeeperClient } from './client.ts'
import type { Server } from './connection.ts'
import { isWire } from './errors.ts'
import type { Acl } from './protocol.ts'
import type { SessionOptions } from './session.ts'

export interface EnsembleOptions {
  readonly servers: readonly Server[]
  readonly auth: SessionOptions['auth']
  readonly tls: SessionOptions['tls']
  readonly runtime: Runtime
}

const EVERYTHING = 31
const ANYONE: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'world', id: 'anyone' }]
/** The maker of a node alone, by the credentials of its session. */
const CREATOR: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'auth', id: '' }]
/** How long a store that is closed waits for its nodes to go; what is left goes when there is a connection again. */
const LEAVE_MS = 1000

/** Less than any ensemble agrees to, so that the answer is the least that it does agree to. */
const LEAST_MS = 1
/** A busy machine may stand still for as long as a short session allows before the first answers are read. */
const PREPARE_TRIES = 5
/** A session that is asked for may be longer than needed by an eighth, so that there are few of them. */
const STEPS_PER_DOUBLING = 8
const IDLE_MS = 15_000
/** More than whoever has just got a session takes until it uses it, and from one request to the next. */
const FAREWELL_MS = 500

/** The least time-out that an ensemble agrees to, by its servers: asked for once in the life of a process. */
const LEAST = new Map<string, number>()

/**
 * A session has one time-out, and its nodes outlive a dead process by that. So there is a pool for each class of ttl, whose
 * sessions are opened when they are first needed and closed when they have been empty for a while. What leaves no node
 * goes through any of them, or through one as short as possible.
 */
export class Sessions {
  readonly runtime: Runtime
  readonly paths: Paths
  readonly acl: readonly Acl[]
  readonly clock: EnsembleClock
  private readonly options: EnsembleOptions
  private readonly ensemble: string
  private readonly pools = new Map<number, SessionPool>()
  /** How many sessions there are in all pools. */
  private count = 0
  /** How many stores use them. */
  private users = 0
  /** They were used, and are not any more. */
  isOver = false
  private prepared: Promise<void> | null = null
  /** On its way out: nobody gets it any more, and who has it may end what it is at. */
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

  /** One store more; each of them closes them once. */
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
   * A session whose nodes live for `lifeMs` at least after it was last heard of, with room for nodes whose paths take so
   * many bytes. They count from now on, until they are given back; nothing counts when it fails.
   */
  forLife(lifeMs: number, bytes: number): Soon<LockSession> {
    if (this.leastMs === 0)
      return this.connect(this.inClass(LEAST_MS)).then(() => this.forLife(lifeMs, bytes))
    if (this.neededMs(lifeMs) > this.mostMs) return Promise.reject(this.tooLong(lifeMs))
    const session = this.inClass(this.classOf(lifeMs))
    session.pool.charge(session, bytes)
    return session.isUsable && session.isPrepared ? session : this.open(session, lifeMs, bytes)
  }

  /** Nodes of that many bytes are gone, or were never made. */
  giveBack(session: LockSession, bytes: number): void {
    session.pool.refund(session, bytes)
    if (session.bytes > 0) return
    session.usedAtMs = this.options.runtime.nowMs()
    this.watchIdle()
  }

  /** Whether a session's nodes live that long. */
  suffices(session: LockSession, lifeMs: number): boolean {
    return session.client.session.timeoutMs >= this.neededMs(lifeMs)
  }

  /** Breaks every connection, as a network would; the sessions go on. */
  disconnect(): void {
    for (const { client } of this.all()) client.session.disconnect()
  }

  /** Makes what everything stands on again, should somebody have deleted it. */
  prepareAgain({ client }: LockSession): Promise<void> {
    this.prepared = prepare(client, this.paths, this.acl)
    return this.prepared
  }

  /**
   * A store is closed. As long as others use the sessions, it deletes its nodes itself; the last one closes the sessions. Those
   * that keep a key closed end by their time-out only, all others at once.
   */
  async close(deleteNodes: () => Promise<unknown>): Promise<void> {
    this.users--
    this.isOver = this.users === 0
    if (this.isOver) await this.closeAll()
    else await this.within(LEAVE_MS, deleteNodes())
  }

  private within(limitMs: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.runtime.setTimer(resolve, limitMs, false)
      const end = (): void => {
        timer.clear()
        resolve()
      }
      work.then(end, end)
    })
  }

  private async closeAll(): Promise<void> {
    this.idling?.clear()
    this.leaving?.timer.clear()
    await this.leaving?.session.client.session.close()
    const closing = [...this.all()].map(({ client, entries }) => {
      return client.session.close([...entries].some(({ phase }) => phase === 'closed'))
    })
    await Promise.all(closing)
  }

  private *all(): Iterable<LockSession> {
    for (const { sessions } of this.pools.values()) yield* sessions
  }

  /** A session of that time-out that takes further nodes, connected or not. */
  private inClass(timeoutMs: number): LockSession {
    let pool = this.pools.get(timeoutMs)
    if (pool === undefined) {
      pool = new SessionPool(timeoutMs)
      this.pools.set(timeoutMs, pool)
    }
    return pool.open ?? this.make(pool)
  }

  /** Nobody gets it any more. */
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

  /** Whether it is done; what was cut off before it was answered is asked again, since preparing twice does no harm. */
  private async prepare(session: LockSession, tries: number): Promise<boolean> {
    await session.ready()
    if (session.pool.timeoutMs === LEAST_MS) LEAST.set(this.ensemble, session.client.session.timeoutMs)
    this.prepared ??= prepare(session.client, this.paths, this.acl)
    try {
      await this.prepared
    } catch (error) {
      this.prepared = null
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
   * A server tells the leader of its sessions every half tick, and the least time-out is two ticks unless somebody
   * changed that; we are heard of every tenth of the time-out. The last that the leader heard of a session may be
   * older by both when its server dies.
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

  /** What was opened to learn the least time-out pings more often than any other, and no claim has come to need it. */
  private dropProbe(): void {
    const session = this.pools.get(LEAST_MS)?.open
    if (session === undefined || session.hasServed || session.bytes > 0 || this.leaving !== null) return
    this.remove(session)
    this.sayGoodbye(session)
  }

  private sayGoodbye(session: LockSession): void {
    const end = (): void => {
      if (session.client.session.isBusy) this.sayGoodbye(session)
      else void session.client.session.close()
    }
    this.leaving = { session, timer: this.options.runtime.setTimer(end, FAREWELL_MS, true) }
  }

  /** What is empty now is looked at later, by one timer for all sessions. */
  private watchIdle(): void {
    if (this.idling !== null || this.count === 1) return
    this.idling = this.options.runtime.setTimer(() => this.dropIdle(), IDLE_MS, true)
  }

  /** One session stays for whatever is asked next. */
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

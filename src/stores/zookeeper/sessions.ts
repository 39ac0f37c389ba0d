import type { Runtime, Timer } from '../../core/runtime.ts'
import type { Soon } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import type { Entry } from './entry.ts'
import { ZooKeeperClient } from './wire/client.ts'
import type { Server } from './wire/connection.ts'
import { isWire } from './wire/errors.ts'
import type { SessionOptions } from './wire/session.ts'

export interface EnsembleOptions {
  readonly servers: readonly Server[]
  readonly auth: SessionOptions['auth']
  readonly runtime: Runtime
}

/** Who is told what happens to the sessions. */
export interface SessionsListener {
  /** Called once, before the first session is used. */
  prepare(client: ZooKeeperClient): Promise<void>
  connected(session: LockSession): void
  expired(session: LockSession): void
}

/** Less than any ensemble agrees to, so that the answer is the least that it does agree to. */
const LEAST_MS = 1
/** How long a call waits for a connection; nothing is sent after that. */
const PATIENCE_MS = 1000
/** A busy machine may stand still for as long as a short session allows before the first answers are read. */
const PREPARE_TRIES = 5
/** A session that is asked for may be longer than needed by an eighth, so that there are few of them. */
const STEPS_PER_DOUBLING = 8
const IDLE_MS = 60_000
/** More than whoever has just got a session takes until it uses it, and from one request to the next. */
const FAREWELL_MS = 500

/** A session and the claims whose nodes live as long as it does. */
export class LockSession {
  readonly client: ZooKeeperClient
  readonly entries = new Set<Entry>()
  /** Containers whose next change we will be told. */
  readonly keysWatched = new Set<string>()
  usedAtMs = 0
  /** Whether a claim was ever made through it. */
  hasServed = false
  /** Whether what everything stands on was there when it connected. */
  isPrepared = false
  private readonly runtime: Runtime
  private readonly root: string
  private barrierOfTurn: Promise<unknown> | null = null

  constructor(client: (session: LockSession) => ZooKeeperClient, root: string, runtime: Runtime) {
    this.client = client(this)
    this.root = root
    this.runtime = runtime
  }

  get isUsable(): boolean {
    return this.client.session.isConnected
  }

  /** Null when requests can be sent now. */
  ready(): Promise<void> | null {
    return this.client.session.ready(PATIENCE_MS)
  }

  /**
   * A transaction that changes nothing. Unlike `sync`, which a leader that was replaced without knowing it may answer,
   * it needs a majority: what is read after it is as new as the moment it was asked for, and our session was alive.
   */
  barrier(): Promise<unknown> {
    if (this.barrierOfTurn === null) {
      this.barrierOfTurn = this.client.multi([{ kind: 'check', path: this.root }])
      this.runtime.defer(() => {
        this.barrierOfTurn = null
      })
    }
    return this.barrierOfTurn
  }
}

/** The least time-out that an ensemble agrees to, by its servers: asked for once in the life of a process. */
const LEAST = new Map<string, number>()

/**
 * A session has one time-out, and its nodes outlive a dead process by that. So there is one for each class of ttl, each
 * opened when it is first needed. What leaves no node goes through any of them, or through one as short as possible.
 */
export class Sessions {
  private readonly options: EnsembleOptions
  private readonly ensemble: string
  private readonly root: string
  private readonly listener: SessionsListener
  private readonly byTimeoutMs = new Map<number, LockSession>()
  private prepared: Promise<void> | null = null
  /** On its way out: nobody gets it any more, and who has it may end what it is at. */
  private leaving: { readonly session: LockSession; readonly timer: Timer } | null = null
  private mostMs = Number.POSITIVE_INFINITY

  constructor(options: EnsembleOptions, root: string, listener: SessionsListener) {
    this.options = options
    this.ensemble = options.servers.map(({ host, port }) => `${host}:${port}`).join(',')
    this.root = root
    this.listener = listener
  }

  /** A session that requests can be sent through. */
  any(): Soon<LockSession> {
    for (const session of this.byTimeoutMs.values())
      if (session.isUsable && session.isPrepared) return session
    const [known] = this.byTimeoutMs.keys()
    return this.connect(known ?? LEAST_MS)
  }

  /** A session whose nodes live for `lifeMs` at least after it was last heard of. */
  forLife(lifeMs: number): Soon<LockSession> {
    if (this.leastMs === 0) return this.connect(LEAST_MS).then(() => this.forLife(lifeMs))
    const known = this.byTimeoutMs.get(this.classOf(lifeMs))
    return known?.isUsable && known.isPrepared ? known : this.open(lifeMs)
  }

  /** Whether a session's nodes live that long. */
  suffices(session: LockSession, lifeMs: number): boolean {
    return session.client.session.timeoutMs >= this.neededMs(lifeMs)
  }

  /** Breaks every connection, as a network would; the sessions go on. */
  disconnect(): void {
    for (const { client } of this.byTimeoutMs.values()) client.session.disconnect()
  }

  /** Makes what everything stands on again, should somebody have deleted it. */
  prepareAgain({ client }: LockSession): Promise<void> {
    this.prepared = this.listener.prepare(client)
    return this.prepared
  }

  /** Those that keep a key closed end by their time-out only, all others at once. */
  async close(): Promise<void> {
    this.leaving?.timer.clear()
    await this.leaving?.session.client.session.close()
    const closing = [...this.byTimeoutMs.values()].map(({ client, entries }) => {
      return client.session.close([...entries].some(({ phase }) => phase === 'closed'))
    })
    await Promise.all(closing)
  }

  private async open(lifeMs: number): Promise<LockSession> {
    const neededMs = this.neededMs(lifeMs)
    if (neededMs > this.mostMs) throw this.tooLong(lifeMs)
    const timeoutMs = this.classOf(lifeMs)
    const session = await this.connect(timeoutMs)
    const agreedMs = session.client.session.timeoutMs
    if (agreedMs < timeoutMs) this.mostMs = agreedMs
    if (agreedMs >= neededMs) {
      if (timeoutMs !== LEAST_MS) this.dropProbe()
      return session
    }
    this.byTimeoutMs.delete(timeoutMs)
    await session.client.session.close()
    throw this.tooLong(lifeMs)
  }

  private async connect(timeoutMs: number): Promise<LockSession> {
    let session = this.byTimeoutMs.get(timeoutMs)
    if (session === undefined) {
      this.dropIdle()
      session = this.make(timeoutMs)
      this.byTimeoutMs.set(timeoutMs, session)
    }
    session.usedAtMs = this.options.runtime.nowMs()
    let tries = 1
    while (!(await this.prepare(session, timeoutMs, tries))) tries++
    return session
  }

  /** Whether it is done; what was cut off before it was answered is asked again, since preparing twice does no harm. */
  private async prepare(session: LockSession, timeoutMs: number, tries: number): Promise<boolean> {
    await session.ready()
    const agreedMs = session.client.session.timeoutMs
    if (timeoutMs === LEAST_MS) LEAST.set(this.ensemble, agreedMs)
    this.prepared ??= this.listener.prepare(session.client)
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

  private make(timeoutMs: number): LockSession {
    const clientOf = (session: LockSession) =>
      new ZooKeeperClient(
        { ...this.options, timeoutMs },
        {
          connected: () => this.listener.connected(session),
          disconnected: () => {},
          expired: () => {
            if (this.byTimeoutMs.get(timeoutMs) === session) this.byTimeoutMs.delete(timeoutMs)
            this.listener.expired(session)
          },
        },
      )
    return new LockSession(clientOf, this.root, this.options.runtime)
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
    const session = this.byTimeoutMs.get(LEAST_MS)
    if (session === undefined || session.hasServed || this.leaving !== null) return
    this.byTimeoutMs.delete(LEAST_MS)
    this.sayGoodbye(session)
  }

  private sayGoodbye(session: LockSession): void {
    const end = (): void => {
      if (session.client.session.isBusy) this.sayGoodbye(session)
      else void session.client.session.close()
    }
    this.leaving = { session, timer: this.options.runtime.setTimer(end, FAREWELL_MS, true) }
  }

  private dropIdle(): void {
    const nowMs = this.options.runtime.nowMs()
    for (const [timeoutMs, session] of this.byTimeoutMs) {
      if (session.entries.size > 0 || nowMs - session.usedAtMs < IDLE_MS) continue
      this.byTimeoutMs.delete(timeoutMs)
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

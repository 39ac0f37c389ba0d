import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { TlsOptions } from '../../../core/tls.ts'
import { Connection, type ConnectionListener, type Server } from './connection.ts'
import { answerError, connectionLost, isWire, sessionOver, type WireError } from './errors.ts'
import { JuteReader, JuteWriter } from './jute.ts'
import { type Credentials, logIn } from './login.ts'
import { Pipeline, type Request } from './pipeline.ts'
import {
  type Handshake,
  NO_SESSION,
  OPERATIONS,
  readHandshake,
  readWatchEvent,
  writeHandshake,
  XIDS,
} from './protocol.ts'
import { Route } from './route.ts'
import { Waiters } from './waiters.ts'
import { Watches } from './watches.ts'

export interface SessionOptions {
  readonly servers: readonly Server[]
  /** Asked for; what the ensemble agrees to is `timeoutMs` of the session. */
  readonly timeoutMs: number
  readonly auth: Credentials | null
  /** Null for connections in clear text. */
  readonly tls: TlsOptions | null
  readonly runtime: Runtime
}

/** What happens to a session by itself. */
export interface SessionListener {
  /** Connected for the first time, or again within the session: then the watches are in place again, too. */
  connected(): void
  /** The session may live on: another server is looked for. */
  disconnected(why: string): void
  /** The ensemble has ended the session, and its ephemeral nodes are gone. Told once, and nothing after it. */
  expired(): void
}

/** The leader hears of a session through its pings, so the gap between two of them is a small part of the time-out. */
const PINGS_PER_TIMEOUT = 10
const SHORTEST_PING_MS = 20
/** A server that was silent for so long is given up; the rest of the time-out is for finding another. */
const READ_TIMEOUT_PART = 2 / 3
/**
 * The leader hears of a session by the reports of its server, half a tick late, and not by the transactions that come through it. After a
 * longer silence the session may end before the next report, although a transaction has just found it alive. Whoever connects
 * again is told to the leader at once.
 */
const LONGEST_SILENCE_PART = 1 / 2
const CLOSE_MS = 1000

/**
 * One session with an ensemble, over one connection at a time, which moves to another server when it breaks. Nothing is
 * kept for later and nothing is sent twice: a request that was not answered fails, and its outcome is unknown.
 */
export class Session implements ConnectionListener {
  readonly watches = new Watches()
  private readonly options: SessionOptions
  private readonly runtime: Runtime
  private readonly listener: SessionListener
  private readonly route: Route
  private readonly pipeline: Pipeline
  private readonly waiters: Waiters
  private state: 'connecting' | 'connected' | 'expired' | 'closed' = 'connecting'
  private connection: Connection | null = null
  private handshake: Handshake = NO_SESSION
  private shaken = false
  private seenZxid = 0n
  private heardAtMs = 0
  private beatDueMs = 0
  private timer: Timer | null = null
  private whyDown = 'it is not there yet'
  private closing: Promise<void> | null = null

  constructor(options: SessionOptions, listener: SessionListener) {
    this.options = options
    this.runtime = options.runtime
    this.listener = listener
    this.route = new Route(options.servers, options.runtime)
    this.waiters = new Waiters(options.runtime)
    this.pipeline = new Pipeline(options.runtime, {
      write: (bytes) => this.connection?.write(bytes),
      keepAlive: (wanted) => this.connection?.keepAlive(wanted),
    })
    this.connect()
  }

  get id(): bigint {
    return this.handshake.sessionId
  }

  /** How long the ensemble keeps the session without hearing from us; 0 before that was agreed on. */
  get timeoutMs(): number {
    return this.handshake.timeoutMs
  }

  get isConnected(): boolean {
    if (this.state === 'connected' && this.wasSilent) this.disconnect()
    return this.state === 'connected'
  }

  get isOver(): boolean {
    return this.state === 'expired' || this.state === 'closed'
  }

  /** Whether requests are under way. */
  get isBusy(): boolean {
    return this.pipeline.isBusy
  }

  /** Null when a request can be sent now; else settles when it can, and rejects when it cannot in time. */
  ready(patienceMs: number): Promise<void> | null {
    if (this.isConnected) return null
    if (this.isOver) return Promise.reject(sessionOver(this.whyDown))
    return this.waiters.wait(patienceMs, () => connectionLost(this.whyDown))
  }

  request<T>(request: Request<T>): Promise<T> {
    if (this.state === 'connected') return this.pipeline.request(request)
    return Promise.reject(this.isOver ? sessionOver(this.whyDown) : connectionLost(this.whyDown))
  }

  /** Ends the session and its ephemeral nodes; `quietly` leaves that to the ensemble's time-out. */
  close(quietly = false): Promise<void> {
    this.closing ??= this.end(quietly)
    return this.closing
  }

  /** Breaks the connection; the session goes on with another server. */
  disconnect(): void {
    this.connection?.close('it was cut')
  }

  opened(): void {
    const writer = new JuteWriter()
    writeHandshake(writer, this.handshake, this.options.timeoutMs, this.seenZxid)
    this.connection?.write(writer.take())
  }

  packet(packet: Buffer): void {
    const { wasSilent } = this
    this.heardAtMs = this.runtime.nowMs()
    const reader = new JuteReader(packet)
    if (!this.shaken) {
      this.shake(readHandshake(reader))
      return
    }
    this.answer(reader)
    if (wasSilent) this.disconnect()
  }

  closed(why: string): void {
    const wasConnected = this.state === 'connected'
    this.connection = null
    this.timer?.clear()
    if (!this.isOver) {
      this.state = 'connecting'
      this.whyDown = why
    }
    this.pipeline.abandon((about) => connectionLost(`${this.whyDown} (${about})`))
    if (this.isOver) return
    if (wasConnected) this.listener.disconnected(why)
    const pauseMs = wasConnected ? this.route.leave() : this.route.fail()
    if (pauseMs === 0) this.connect()
    else this.timer = this.runtime.setTimer(() => this.connect(), pauseMs, true)
  }

  private connect(): void {
    const { server } = this.route
    this.shaken = false
    const connection = new Connection(server, this.options.tls, this)
    this.connection = connection
    const giveUp = () => connection.close(`${server.host}:${server.port} did not answer`)
    const halfMs = this.route.connectMs(this.timeoutMs) / 2
    // In two steps: after a stall of this process, the second one lets it read an answer that is there.
    this.timer = this.runtime.setTimer(
      () => {
        this.timer = this.runtime.setTimer(giveUp, halfMs, true)
      },
      halfMs,
      true,
    )
  }

  private shake(handshake: Handshake): void {
    if (handshake.timeoutMs <= 0) {
      this.over('expired', sessionOver('it expired'))
      return
    }
    this.shaken = true
    this.handshake = handshake
    const { connection } = this
    const login = logIn(this.pipeline, this.options.auth, this.runtime)
    if (login === null) this.admitted()
    else login.then(() => this.connection === connection && this.admitted(), this.refused)
  }

  private readonly refused = (error: WireError): void => {
    if (!this.isOver && !isWire(error, 'ConnectionLoss')) this.over('closed', error)
  }

  private admitted(): void {
    this.route.arrive()
    this.state = 'connected'
    this.watchAgain()
    this.timer?.clear()
    this.beatDueMs = 0
    this.beat()
    this.waiters.resolve()
    this.listener.connected()
  }

  private watchAgain(): void {
    for (const { data, existence, children } of this.watches.portions()) {
      this.pipeline.post(XIDS.setWatches, OPERATIONS.setWatches, (writer) => {
        writer.long(this.seenZxid)
        for (const paths of [data, existence, children]) writer.list(paths, (path) => writer.text(path))
      })
    }
  }

  private answer(reader: JuteReader): void {
    const xid = reader.int()
    const zxid = reader.long()
    const code = reader.int()
    if (zxid > this.seenZxid) this.seenZxid = zxid
    if (xid === XIDS.notification) {
      const event = readWatchEvent(reader)
      if (event !== null) this.watches.tell(event)
    } else if (xid === XIDS.auth) {
      if (code !== 0) this.over('closed', answerError(code, 'the credentials were refused'))
    } else if (xid !== XIDS.ping && xid !== XIDS.setWatches) {
      this.pipeline.settle(xid, code, reader)
    }
  }

  /** Whether the server or this process stood still for so long that the connection is not to be used any more. */
  private get wasSilent(): boolean {
    return this.runtime.nowMs() - this.heardAtMs > this.timeoutMs * LONGEST_SILENCE_PART
  }

  /** Pings when nothing else was said, and gives up a server that says nothing. */
  private beat(): void {
    const nowMs = this.runtime.nowMs()
    const pingMs = Math.max(this.timeoutMs / PINGS_PER_TIMEOUT, SHORTEST_PING_MS)
    // After a stall of this process the answers may be there, but not read yet: judge at the next beat.
    const stalled = this.beatDueMs > 0 && nowMs - this.beatDueMs > pingMs
    const silentMs = nowMs - this.heardAtMs
    if (silentMs > this.timeoutMs * READ_TIMEOUT_PART && !stalled) {
      this.connection?.close(`the server was silent for ${Math.round(silentMs)} ms`)
      return
    }
    if (nowMs - this.pipeline.sentAtMs >= pingMs / 2) this.pipeline.post(XIDS.ping, OPERATIONS.ping, () => {})
    this.beatDueMs = nowMs + pingMs
    this.timer = this.runtime.setTimer(() => this.beat(), pingMs, true)
  }

  private over(state: 'expired' | 'closed', error: WireError): void {
    this.state = state
    this.whyDown = error.message
    this.connection?.close(error.message)
    this.timer?.clear()
    this.watches.clear()
    this.waiters.reject(error)
    this.listener.expired()
  }

  private async end(quietly: boolean): Promise<void> {
    if (this.state === 'connected' && !quietly) await this.sayGoodbye()
    if (this.isOver) return
    this.state = 'closed'
    this.whyDown = 'it was closed'
    this.connection?.close(this.whyDown)
    this.timer?.clear()
    this.watches.clear()
    this.waiters.reject(sessionOver(this.whyDown))
  }

  private sayGoodbye(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.runtime.setTimer(resolve, CLOSE_MS, false)
      const done = () => {
        timer.clear()
        resolve()
      }
      const nothing = () => {}
      this.request({
        operation: OPERATIONS.closeSession,
        about: 'close',
        write: nothing,
        read: nothing,
      }).then(done, done)
    })
  }
}

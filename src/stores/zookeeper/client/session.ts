import type { Runtime, Timer } from '../../../core/runtime.ts'
import { answeredWithin } from '../../../core/runtime.ts'
import type { TlsOptions } from '../../../core/tls.ts'
import { type ConnectionListener, type Server, ServerConnection } from './connection.ts'
import { answerError, connectionLost, isWire, sessionOver, type WireError } from './errors.ts'
import { JuteReader, JuteWriter } from './jute.ts'
import { type Credentials, logIn } from './login.ts'
import { Pipeline, type PipelineRequest } from './pipeline.ts'
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
import { ConnectionWaiters } from './waiters.ts'
import { Watches } from './watches.ts'

export interface SessionOptions {
  readonly servers: readonly Server[]
  /** The requested timeout; `timeoutMs` of the session is the granted one. */
  readonly timeoutMs: number
  readonly auth: Credentials | null
  /** Null for connections in clear text. */
  readonly tls: TlsOptions | null
  readonly runtime: Runtime
}

/** The events of a session. */
export interface SessionListener {
  /** The session has connected or reconnected, with its watches restored. */
  connected(): void
  /** The connection is lost; the session tries the next server. */
  disconnected(why: string): void
  /** The ensemble has ended the session and deleted its ephemeral nodes. This is the last event. */
  expired(): void
}

/** Pings keep a session alive at the leader, so the gap between two of them is a small part of the timeout. */
const PINGS_PER_TIMEOUT = 10
const SHORTEST_PING_MS = 20
/** The longest silence of a server; the rest of the timeout is for the connection to another. */
const READ_TIMEOUT_PART = 2 / 3
/**
 * The leader learns of a session from the reports of its server, half a tick late, and not from its transactions. After a longer
 * silence the session may end before the next report, although a transaction has just proven it alive. A reconnect is reported to
 * the leader at once.
 */
const LONGEST_SILENCE_PART = 1 / 2
const CLOSE_MS = 1000

/**
 * One session with an ensemble, over one connection at a time, which moves to another server when it breaks. There is no offline
 * queue and no resend: an unanswered request fails, and its outcome is unknown.
 */
export class ZooKeeperSession implements ConnectionListener {
  readonly watches = new Watches()
  private readonly options: SessionOptions
  private readonly runtime: Runtime
  private readonly listener: SessionListener
  private readonly route: Route
  private readonly pipeline: Pipeline
  private readonly waiters: ConnectionWaiters
  private state: 'connecting' | 'connected' | 'expired' | 'closed' = 'connecting'
  private connection: ServerConnection | null = null
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
    this.waiters = new ConnectionWaiters(options.runtime)
    this.pipeline = new Pipeline(options.runtime, {
      write: (bytes) => this.connection?.write(bytes),
      keepAlive: (wanted) => this.connection?.keepAlive(wanted),
    })
    this.connect()
  }

  get id(): bigint {
    return this.handshake.sessionId
  }

  /** The granted timeout; 0 before the first handshake. */
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

  /** True if requests are pending. */
  get isBusy(): boolean {
    return this.pipeline.isBusy
  }

  /** Null when connected; otherwise resolves on the next connection, or rejects after `patienceMs`. */
  ready(patienceMs: number): Promise<void> | null {
    if (this.isConnected) return null
    if (this.isOver) return Promise.reject(sessionOver(this.whyDown))
    return this.waiters.wait(patienceMs, () => connectionLost(this.whyDown))
  }

  request<T>(request: PipelineRequest<T>): Promise<T> {
    if (this.state === 'connected') return this.pipeline.request(request)
    return Promise.reject(this.isOver ? sessionOver(this.whyDown) : connectionLost(this.whyDown))
  }

  /** Ends the session and its ephemeral nodes; `quietly` leaves that to the session's timeout. */
  close(quietly = false): Promise<void> {
    this.closing ??= this.end(quietly)
    return this.closing
  }

  /** Breaks the connection; the session continues on another server. */
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
    const connection = new ServerConnection(server, this.options.tls, this)
    this.connection = connection
    const giveUp = () => connection.close(`${server.host}:${server.port} did not answer`)
    const halfMs = this.route.connectMs(this.timeoutMs) / 2
    // Two steps: after a stall of this process, the second step lets it first read answers that have arrived.
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
    for (const { data, children } of this.watches.portions()) {
      this.pipeline.post(XIDS.setWatches, OPERATIONS.setWatches, (writer) => {
        writer.long(this.seenZxid)
        // The second list is for watches on absent nodes, which this client never sets.
        for (const paths of [data, [], children]) writer.list(paths, (path) => writer.text(path))
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

  /** True if the server or this process has stalled for too long to use the connection. */
  private get wasSilent(): boolean {
    return this.runtime.nowMs() - this.heardAtMs > this.timeoutMs * LONGEST_SILENCE_PART
  }

  /** Pings an idle connection, and closes one whose server is silent. */
  private beat(): void {
    const nowMs = this.runtime.nowMs()
    const pingMs = Math.max(this.timeoutMs / PINGS_PER_TIMEOUT, SHORTEST_PING_MS)
    // After a stall of this process, answers may have arrived unread: decide at the next beat.
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
    if (this.state === 'connected' && !quietly) await this.closeSession()
    if (this.isOver) return
    this.state = 'closed'
    this.whyDown = 'it was closed'
    this.connection?.close(this.whyDown)
    this.timer?.clear()
    this.watches.clear()
    this.waiters.reject(sessionOver(this.whyDown))
  }

  private async closeSession(): Promise<void> {
    const nothing = () => {}
    const request = { operation: OPERATIONS.closeSession, about: 'close', write: nothing, read: nothing }
    await answeredWithin(this.request(request), CLOSE_MS, this.runtime).catch(nothing)
  }
}

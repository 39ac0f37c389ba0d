import type { Runtime } from '../../../core/runtime.ts'
import type { TlsOptions } from '../../../core/tls.ts'
import { ClosedError, StoreError } from '../../../errors.ts'
import { Channel, type Outlet, type StreamListener } from './channel.ts'
import { GrpcError, UNAUTHENTICATED, UNAVAILABLE } from './grpc.ts'
import { authenticateRequest } from './requests.ts'
import { authenticateResponse } from './responses.ts'

export interface ClusterOptions {
  /** `host:port` of some or all members. */
  readonly endpoints: readonly string[]
  readonly tls: TlsOptions | null
  readonly user: string | null
  readonly password: string | null
}

/** A member that is this slow may be frozen or partitioned: the next request goes to another member. */
const SLOW_MS = 1000
/** After a stall of this process its timers are due before it has read the answers that arrived: this lets it read them first. */
const GRACE_MS = 1
/** Below the core's own limit for a call, so that the error can name the reason. */
const LONGEST_CALL_MS = 4000
/** The member gives up at the same time as the caller. */
const LIMITED = { 'grpc-timeout': `${LONGEST_CALL_MS}m` }
/** A member without a leader ends the stream instead of staying silent. */
const LED = { hasleader: 'true' }
const FULL = /database space exceeded/
const STALE_TOKEN = /invalid auth token|revision of auth store is old/

/** A connection to one member at a time; the next member takes over when it fails. */
export class Cluster {
  private readonly options: ClusterOptions
  private readonly runtime: Runtime
  private readonly channels = new Set<Channel>()
  private channel: Channel | null = null
  private member: number
  private token: Promise<string> | null = null
  private closed = false

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.options = options
    this.runtime = runtime
    // Processes begin at different members, which spreads the load.
    this.member = Math.floor(runtime.random() * options.endpoints.length)
  }

  /** One request, one answer, within our own deadline. An error means that the outcome is unknown, unless it is a refusal. */
  async call(path: string, message: Buffer): Promise<Buffer> {
    if (this.options.user === null) return this.send(path, message, LIMITED)
    try {
      return await this.send(path, message, { ...LIMITED, token: await this.authentic() })
    } catch (error) {
      if (!isStaleToken(error)) throw error
      // The member refused the token before it executed anything, so the request can be sent again.
      this.token = null
      return this.send(path, message, { ...LIMITED, token: await this.authentic() })
    }
  }

  /** A stream on the present connection. */
  async stream(path: string, listener: StreamListener): Promise<Outlet> {
    const headers = this.options.user === null ? LED : { ...LED, token: await this.authentic() }
    const end = (error: Error): void => {
      if (isStaleToken(error)) this.token = null
      listener.end(error)
    }
    return this.current().open(path, headers, { message: (body) => listener.message(body), end })
  }

  /** The next call or stream asks for a new token. */
  distrustToken(): void {
    this.token = null
  }

  close(): void {
    this.closed = true
    for (const channel of this.channels) channel.destroy(new ClosedError('the store was closed'))
  }

  /** A request that cannot have left this process goes to the next member; each member gets it once. */
  private async send(
    path: string,
    message: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<Buffer> {
    for (let left = this.options.endpoints.length; ; left--) {
      const channel = this.current()
      try {
        return await this.bounded(channel, channel.call(path, message, headers))
      } catch (error) {
        if (isUnavailable(error)) this.leave(channel)
        if (channel.connected || this.closed || left <= 1) throw explained(error)
      }
    }
  }

  private bounded(channel: Channel, answer: Promise<Buffer>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const late = (): void => {
        const error = new StoreError(`etcd did not answer within ${LONGEST_CALL_MS} ms`)
        channel.destroy(error)
        reject(error)
      }
      const slow = (): void => {
        timer = this.runtime.setTimer(late, LONGEST_CALL_MS - SLOW_MS, false)
        if (channel.connected) this.leave(channel)
        else channel.destroy(new GrpcError(UNAVAILABLE, 'the member cannot be reached'))
      }
      let timer = this.runtime.setTimer(
        () => {
          timer = this.runtime.setTimer(slow, GRACE_MS, false)
        },
        SLOW_MS,
        false,
      )
      answer.then(resolve, reject).finally(() => timer.clear())
    })
  }

  private current(): Channel {
    if (this.closed) throw new ClosedError('the store was closed')
    if (this.channel !== null && !this.channel.closed) return this.channel
    const { endpoints, tls } = this.options
    const endpoint = endpoints[this.member % endpoints.length] as string
    const channel: Channel = new Channel(endpoint, tls, () => {
      this.channels.delete(channel)
      this.leave(channel)
    })
    this.channels.add(channel)
    this.channel = channel
    return channel
  }

  /** Goes to the next member; pending calls may still finish. */
  private leave(channel: Channel): void {
    if (this.channel !== channel) return
    this.channel = null
    this.member++
    if (!channel.closed) channel.drain()
  }

  private authentic(): Promise<string> {
    const { user, password } = this.options
    this.token ??= this.authenticate(user ?? '', password ?? '')
    return this.token
  }

  private async authenticate(user: string, password: string): Promise<string> {
    try {
      const request = authenticateRequest(user, password)
      return authenticateResponse(await this.send('/etcdserverpb.Auth/Authenticate', request, {}))
    } catch (error) {
      this.token = null
      throw error
    }
  }
}

/** True if the member reports that it did nothing; after any other error the outcome is unknown. */
export function isRefusal(error: unknown): error is GrpcError {
  return error instanceof GrpcError && REFUSALS.has(error.status)
}

/** Invalid, not found, exists, denied, exhausted, precondition, unimplemented, not authenticated. */
const REFUSALS = new Set([3, 5, 6, 7, 8, 9, 12, UNAUTHENTICATED])

/** etcd names the alarm, but no remedy. */
function explained(error: unknown): unknown {
  if (!(error instanceof GrpcError) || !FULL.test(error.message)) return error
  const message =
    'etcd has reached its storage quota (alarm NOSPACE) and takes no new claims: compact, defragment and disarm the alarm, or raise --quota-backend-bytes'
  return new GrpcError(error.status, message, { cause: error })
}

function isStaleToken(error: unknown): boolean {
  return error instanceof GrpcError && STALE_TOKEN.test(error.message)
}

function isUnavailable(error: unknown): boolean {
  return !(error instanceof GrpcError) || error.status === UNAVAILABLE
}

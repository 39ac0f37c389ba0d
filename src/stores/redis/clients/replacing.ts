import type { Runtime, Timer } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import {
  type ChannelListener,
  NotSentError,
  type RedisClient,
  SilentError,
  type Subscription,
  type Topology,
} from './client.ts'

/**
 * Replaces its connection when commands got no answer for `silentMs`: TCP itself gives up on a silent peer only after many minutes.
 * The user's client stays open, for its owner may wait for something on it.
 */
export class ReplacingClient implements RedisClient {
  readonly topology: Topology
  readonly cluster = null
  readonly keyPrefix: string
  private readonly runtime: Runtime
  private readonly silentMs: number
  private current: Watched
  private timer: Timer | null = null
  private closed = false

  constructor(client: RedisClient, runtime: Runtime, silentMs: number) {
    this.topology = client.topology
    this.keyPrefix = client.keyPrefix
    this.runtime = runtime
    this.silentMs = silentMs
    this.current = new Watched(client, runtime)
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    const answer = this.current.client.send(command, args)
    this.timer ??= this.runtime.setTimer(this.look, this.silentMs, true)
    return this.current.asked(answer)
  }

  subscribe(listener: ChannelListener): Subscription {
    return this.current.client.subscribe(listener)
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
    await this.current.client.close()
  }

  private readonly look = (): void => {
    const { client, quietMs } = this.current
    this.timer = null
    if (quietMs === 0 || this.closed) return
    if (quietMs >= this.silentMs && client.fresh !== undefined) {
      this.current.replacedAfterMs = this.silentMs
      void client.close()
      this.current = new Watched(client.fresh(), this.runtime)
    } else {
      this.timer = this.runtime.setTimer(this.look, this.silentMs - quietMs, true)
    }
  }
}

/** A connection and the time since it is silent. */
class Watched {
  readonly client: RedisClient
  private readonly runtime: Runtime
  private unanswered = 0
  private askedAtMs: number | null = null
  replacedAfterMs: number | null = null

  constructor(client: RedisClient, runtime: Runtime) {
    this.client = client
    this.runtime = runtime
  }

  /** How long commands have been without any answer. */
  get quietMs(): number {
    return this.askedAtMs === null ? 0 : this.runtime.nowMs() - this.askedAtMs
  }

  asked(answer: Promise<unknown>): Promise<unknown> {
    this.unanswered++
    this.askedAtMs ??= this.runtime.nowMs()
    return answer.then(this.answered, this.failed)
  }

  private readonly answered = (reply: unknown): unknown => {
    this.heard()
    return reply
  }

  /** A refusal of the client, or its own timeout, is no answer of the server. */
  private readonly failed = (error: unknown): never => {
    if (error instanceof NotSentError || error instanceof SilentError) this.unanswered--
    else this.heard()
    if (this.replacedAfterMs === null || error instanceof NotSentError) throw error
    // The library knows only that its connection was closed, not why.
    const message = `no answer within ${this.replacedAfterMs} ms; the connection to Redis is replaced`
    throw new StoreError(message, { cause: error })
  }

  private heard(): void {
    this.unanswered--
    this.askedAtMs = this.unanswered === 0 ? null : this.runtime.nowMs()
  }
}

import { StoreError, whyOf } from '../../../errors.ts'

/** The servers behind a client; they decide what a failover does to locks. */
export type Topology = 'single' | 'sentinel' | 'cluster'

/** The slots of a cluster and its servers. */
export interface ClusterRoutes {
  slotOf(name: string): number
  /** Each server that has slots. */
  masters(): Promise<readonly Master[]>
}

/** A server of a cluster: its host and port for errors, and a client for it alone. */
export interface Master {
  readonly name: string
  readonly client: RedisClient
}

/** The part of a client library that the store needs. */
export interface RedisClient {
  readonly topology: Topology
  /** Null where one server has all keys. */
  readonly cluster: ClusterRoutes | null
  /** The prefix that the client adds to keys. */
  readonly keyPrefix: string
  /**
   * Sends a command now, or rejects. Nothing is queued: a claim that is sent late makes a hold that nobody has. Integers come back as
   * numbers and strings as texts, whatever form the user's client is set to.
   */
  send(command: string, args: readonly string[]): Promise<unknown>
  /** Subscribes on a separate connection. */
  subscribe(listener: ChannelListener): Subscription
  /** Another connection like this one, closed with the store; absent where connections are replaced by other means. */
  fresh?(): RedisClient
  /** Closes connections that the store opened; the user's client stays open. */
  close(): Promise<void>
}

export interface ChannelListener {
  readonly channel: string
  receive(message: string): void
  /** Messages flow, at first or after a gap. */
  up(): void
  /** Messages stopped. */
  down?(): void
}

export interface Subscription {
  /** Settles when messages flow for the first time, or the first try has failed. Never rejects. */
  readonly begun: Promise<void>
  close(): Promise<void>
}

/** Nothing was sent, so the command may go to another server. */
export class NotSentError extends StoreError {}

/** The client itself timed out: the outcome is unknown. */
export class SilentError extends StoreError {
  constructor(cause: Error) {
    super(`the Redis client had no answer in time: ${whyOf(cause)}`, { cause })
  }
}

/** `cause`: why there is no connection, if that is known. */
export function disconnected(state: string, cause: unknown = null): NotSentError {
  const why = cause === null ? state : `${state}: ${whyOf(cause)}`
  const message = `the Redis client is not connected (${why}); nothing was sent`
  return new NotSentError(message, { cause: withoutCommand(cause) })
}

/** ioredis puts the command into its error, and the arguments of AUTH are a password. */
export function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error && 'command' in error)) return error
  const { name, message } = error
  return Object.assign(new Error(message), { name })
}

/** The pairs of a reply: a list, or a map of the newer protocol, which the clients return in three forms. */
export function pairsOf(reply: unknown): Map<string, unknown> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), value]))
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}))
  const [first] = reply as unknown[]
  if (typeof first === 'object' && first !== null)
    return new Map(
      (reply as { key: unknown; value: unknown }[]).map(({ key, value }) => [String(key), value]),
    )
  const pairs = reply.flatMap((name, at) => (at % 2 === 0 ? [[String(name), reply[at + 1]] as const] : []))
  return new Map(pairs)
}

export function ignore(): void {}

type Listener = (...args: never[]) => unknown

/** The events that show the first connection of a client. */
export interface Emitter {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Settles with the connection attempt under way. Only the first one is waited for; later ones are outages. */
export function firstConnection(
  client: Emitter,
  failures: readonly string[],
  success = 'ready',
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: unknown = null
    const note = (error: unknown) => {
      failure = error
    }
    const stop = () => {
      client.off('error', note)
      client.off(success, ready)
      for (const event of failures) client.off(event, failed)
    }
    const ready = () => {
      stop()
      resolve()
    }
    const failed = () => {
      stop()
      reject(disconnected('the first connection failed', failure))
    }
    // Before the others: the event that ends the attempt may be the error itself, or follow it without a reason.
    client.on('error', note)
    client.on(success, ready)
    for (const event of failures) client.on(event, failed)
  })
}

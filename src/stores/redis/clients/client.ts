import { StoreError, whyOf } from '../../../errors.ts'

/** What stands behind a client: what a failover does to the promise depends on it. */
export type Topology = 'single' | 'sentinel' | 'cluster'

/** Where the keys of a cluster are. */
export interface ClusterRoutes {
  slotOf(name: string): number
  /** Each server that has slots. */
  masters(): Promise<readonly Master[]>
}

/** A server of a cluster: host and port, as errors name it, and a client for it alone. */
export interface Master {
  readonly name: string
  readonly client: RedisClient
}

/** What the store needs of a client library. */
export interface RedisClient {
  readonly topology: Topology
  /** Null where one server has all keys. */
  readonly cluster: ClusterRoutes | null
  /** What the client puts before every key that it knows to be one. */
  readonly keyPrefix: string
  /**
   * Sends a command now, or rejects. Nothing is kept for later: a claim that is sent late makes a ghost. Integers come back
   * as numbers and strings as texts, in whatever form the owner of the client wants its own replies.
   */
  send(command: string, args: readonly string[]): Promise<unknown>
  /**
   * Listens on a connection of its own. `up` is called whenever messages flow from now on, at first and after a gap;
   * `down` when they do not.
   */
  subscribe(
    channel: string,
    listener: (message: string) => void,
    up: () => void,
    down?: () => void,
  ): Subscription
  /** Another connection like this one, closed with the store; left out where connections are replaced by other means. */
  fresh?(): RedisClient
  /** Closes what the store opened; a client that was brought stays open. */
  close(): Promise<void>
}

export interface Subscription {
  /** Settles when messages flow for the first time, or when the first try has failed. Never rejects. */
  readonly begun: Promise<void>
  close(): Promise<void>
}

/** Nothing was sent, so nothing was done: it may be sent to another server. */
export class NotSentError extends StoreError {}

/** The client itself has given up on an answer: whether anything was done is not known. */
export class SilentError extends StoreError {
  constructor(cause: Error) {
    super(`the Redis client had no answer in time: ${whyOf(cause)}`, { cause })
  }
}

/** `cause`: what is in the way of a connection, if that is known. */
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

export function ignore(): void {}

type Listener = (...args: never[]) => unknown

/** The events of a client, as much as is needed to see its first connection. */
export interface Emitter {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Settles with the connection attempt that is under way. Only the first one is waited for: later ones are outages. */
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
    // Before the others: what ends the attempt may be the error itself, or come after it and say nothing.
    client.on('error', note)
    client.on(success, ready)
    for (const event of failures) client.on(event, failed)
  })
}

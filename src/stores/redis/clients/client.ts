import { StoreError } from '../../../errors.ts'

/** What stands behind a client: what a failover does to the promise depends on it. */
export type Topology = 'single' | 'sentinel' | 'cluster'

/** Where the keys of a cluster are. */
export interface ClusterRoutes {
  slotOf(name: string): number
  /** Which server has the name now, as far as is known. */
  partOf(name: string): string
  /** A client for each server that has slots. */
  masters(): Promise<readonly RedisClient[]>
}

/** What the store needs of a client library. */
export interface RedisClient {
  readonly topology: Topology
  /** Null where one server has all keys. */
  readonly cluster: ClusterRoutes | null
  /** What the client puts before every key that it knows to be one. */
  readonly keyPrefix: string
  /** Sends a command now, or rejects. Nothing is kept for later: a claim that is sent late makes a ghost. */
  send(command: string, args: readonly string[]): Promise<unknown>
  /** The same for what is sent again and again; left out where nothing is gained by keeping its form. */
  sendKept?(command: string, kept: Kept): Promise<unknown>
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
  /** Closes what the store opened; a client that was brought stays open. */
  close(): Promise<void>
}

/** The arguments of a command that is sent again and again, with room for the form in which a client sends it. */
export interface Kept {
  readonly args: readonly string[]
  form: unknown
}

export interface Subscription {
  /** Settles when messages flow for the first time, or when the first try has failed. Never rejects. */
  readonly begun: Promise<void>
  close(): Promise<void>
}

/** Nothing was sent, so nothing was done: it may be sent to another server. */
export class NotSentError extends StoreError {}

export function disconnected(state: string, cause?: unknown): NotSentError {
  return new NotSentError(`the Redis client is not connected (${state}); nothing was sent`, { cause })
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
    const stop = () => {
      client.off(success, ready)
      for (const event of failures) client.off(event, failed)
    }
    const ready = () => {
      stop()
      resolve()
    }
    const failed = (cause?: unknown) => {
      stop()
      reject(disconnected(cause instanceof Error ? cause.message : 'the first connection failed', cause))
    }
    client.on(success, ready)
    for (const event of failures) client.on(event, failed)
  })
}

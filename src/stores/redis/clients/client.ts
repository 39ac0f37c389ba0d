import { StoreError } from '../../../errors.ts'

/** What the store needs of a client library. */
export interface RedisClient {
  /** What the client puts before every key that it knows to be one. */
  readonly keyPrefix: string
  /** Sends a command now, or rejects. Nothing is kept for later: a claim that is sent late makes a ghost. */
  send(command: string, args: readonly string[]): Promise<unknown>
  /** Listens on a connection of its own. `up` is called whenever messages flow from now on, at first and after a gap. */
  subscribe(channel: string, listener: (message: string) => void, up: () => void): Subscription
  /** Closes what the store opened; a client that was brought stays open. */
  close(): Promise<void>
}

export interface Subscription {
  /** Settles when messages flow for the first time, or when the first try has failed. Never rejects. */
  readonly begun: Promise<void>
  close(): Promise<void>
}

export function disconnected(state: string): StoreError {
  return new StoreError(`the Redis client is not connected (${state}); nothing was sent`)
}

export function ignore(): void {}

type Listener = (...args: never[]) => unknown

/** The events of a client, as much as is needed to see its first connection. */
export interface Emitter {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Settles with the connection attempt that is under way. Only the first one is waited for: later ones are outages. */
export function firstConnection(client: Emitter, failures: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      client.off('ready', ready)
      for (const event of failures) client.off(event, failed)
    }
    const ready = () => {
      stop()
      resolve()
    }
    const failed = (cause?: unknown) => {
      stop()
      reject(cause instanceof Error ? cause : disconnected('the first connection failed'))
    }
    client.on('ready', ready)
    for (const event of failures) client.on(event, failed)
  })
}

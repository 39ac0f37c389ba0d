import { setMaxListeners } from 'node:events'
import {
  type ChannelListener,
  disconnected,
  type Emitter,
  firstConnection,
  ignore,
  type RedisClient,
  type Subscription,
} from './client.ts'

/** node-redis 5 and 6 (`redis` or `@redis/client`), as far as it is used. */
export interface NodeRedis extends Emitter {
  readonly isReady: boolean
  readonly isOpen: boolean
  readonly options?: { readonly socket?: object }
  sendCommand(args: readonly string[], options: object): Promise<unknown>
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  duplicate(options?: object): NodeRedis
  destroy(): void
}

interface CommandOptions {
  /** Version 6 arms a timer for every command, which more than doubles its cost; the core bounds our calls. */
  readonly timeout: undefined
  /** Without it, commands that were not written when a connection broke would wait for the next one. */
  readonly abortSignal: AbortSignal
  /** No mapping: it overrides the one of the user's client. */
  readonly typeMapping: object
}

export class NodeRedisClient implements RedisClient {
  readonly topology = 'single'
  readonly cluster = null
  readonly keyPrefix = ''
  private readonly client: NodeRedis
  private readonly owned: boolean
  private first: Promise<void> | null = null
  private wasReady = false
  /** Why the last connection ended, or the next one fails. */
  private failure: unknown = null
  private connection = new AbortController()
  private options = optionsOf(this.connection)

  constructor(client: NodeRedis, owned: boolean) {
    this.client = client
    this.owned = owned
    client.on('error', this.broken)
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.client.isReady) {
      this.wasReady = true
      return this.client.sendCommand([command, ...args], this.options)
    }
    if (!this.client.isOpen) {
      if (!this.owned || this.first !== null)
        return Promise.reject(disconnected('it was closed, or its connect() was not called'))
      this.client.connect().catch(ignore)
    }
    if (this.wasReady) return Promise.reject(disconnected('reconnecting', this.failure))
    this.first ??= firstConnection(this.client, ['error', 'end'])
    return this.first.then(
      () => this.client.sendCommand([command, ...args], this.options),
      (error) => {
        this.wasReady = true
        throw error
      },
    )
  }

  subscribe({ channel, receive, up, down = ignore }: ChannelListener): Subscription {
    const subscriber = this.client.duplicate()
    let subscribed = false
    // The client resubscribes by itself before it emits `ready`.
    subscriber.on('ready', () => {
      if (subscribed) up()
    })
    const begin = async (): Promise<void> => {
      await subscriber.connect()
      await subscriber.subscribe(channel, receive)
      subscribed = true
      up()
    }
    const begun = new Promise<void>((resolve) => {
      subscriber.on('error', () => {
        down()
        resolve()
      })
      begin().then(resolve, () => resolve())
    })
    return {
      begun,
      close: async () => destroy(subscriber),
    }
  }

  fresh(): RedisClient {
    return new NodeRedisClient(ownLike(this.client, {}), true)
  }

  private readonly broken = (error: unknown): void => {
    this.failure = error
    this.connection.abort()
    this.connection = new AbortController()
    this.options = optionsOf(this.connection)
  }

  async close(): Promise<void> {
    this.client.off('error', this.broken)
    if (!this.owned) return
    this.first ??= Promise.reject(disconnected('it was closed'))
    this.first.catch(ignore)
    destroy(this.client)
  }
}

/** Our own connection with the settings of `model`. */
export function ownLike(model: NodeRedis, address: object): NodeRedis {
  const client = model.duplicate({
    socket: { ...model.options?.socket, ...address, reconnectStrategy },
    disableOfflineQueue: true,
    readonly: false,
    clientSideCache: undefined,
  })
  client.on('error', ignore)
  return client
}

export function reconnectStrategy(attempts: number): number {
  return Math.min((attempts + 1) * 50, 500)
}

/** Destroying a client that is not open throws. */
export function destroy(client: NodeRedis): void {
  if (client.isOpen) client.destroy()
}

/** One signal for all commands of a connection. */
function optionsOf({ signal }: AbortController): CommandOptions {
  setMaxListeners(0, signal)
  return { timeout: undefined, abortSignal: signal, typeMapping: {} }
}

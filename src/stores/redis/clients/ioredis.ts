import {
  disconnected,
  type Emitter,
  firstConnection,
  ignore,
  type RedisClient,
  type Subscription,
  type Topology,
} from './client.ts'

/** ioredis 5 and 6, as far as it is used. */
export interface Ioredis extends Emitter {
  readonly status: string
  readonly options: { readonly keyPrefix?: string; readonly sentinels?: unknown }
  call(command: string, args: readonly string[]): Promise<unknown>
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  duplicate(options: object): Ioredis
  disconnect(): void
}

/** For connections of our own: what cannot be sent fails, and what was under way when a connection broke is not sent again. */
export const IOREDIS_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectAfterMs,
} as const

export function reconnectAfterMs(attempts: number): number {
  return Math.min(attempts * 50, 500)
}

export class IoredisClient implements RedisClient {
  readonly topology: Topology
  readonly cluster = null
  readonly keyPrefix: string
  private readonly client: Ioredis
  private readonly owned: boolean
  private first: Promise<unknown> | null = null
  private wasReady = false

  constructor(client: Ioredis, owned: boolean) {
    this.client = client
    this.owned = owned
    this.topology = client.options.sentinels ? 'sentinel' : 'single'
    this.keyPrefix = client.options.keyPrefix ?? ''
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.client.status === 'ready') {
      this.wasReady = true
      return this.client.call(command, args)
    }
    const first = this.wasReady ? null : this.connecting()
    if (first === null) return Promise.reject(disconnected(this.client.status))
    return first.then(() => {
      this.wasReady = true
      return this.client.call(command, args)
    })
  }

  subscribe(
    channel: string,
    listener: (message: string) => void,
    up: () => void,
    down: () => void = ignore,
  ): Subscription {
    const subscriber = this.client.duplicate({
      lazyConnect: true,
      failoverDetector: true,
      keyPrefix: '',
      autoResubscribe: false,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      retryStrategy: reconnectAfterMs,
    })
    subscriber.on('error', ignore)
    subscriber.on('close', down)
    subscriber.on('message', (_channel: string, message: string) => listener(message))
    const begun = new Promise<void>((resolve) => {
      subscriber.on('ready', () => {
        void subscriber.subscribe(channel).then(up, ignore).then(resolve)
      })
      subscriber.on('close', resolve)
    })
    subscriber.connect().catch(ignore)
    return {
      begun,
      close: async () => subscriber.disconnect(),
    }
  }

  async close(): Promise<void> {
    if (this.owned) this.client.disconnect()
  }

  private connecting(): Promise<unknown> | null {
    const { status } = this.client
    if (status === 'wait') this.first ??= this.client.connect().catch(notConnected)
    else if (status === 'connecting' || status === 'connect')
      this.first ??= firstConnection(this.client, ['close', 'end'])
    else if (this.first !== null) this.wasReady = true
    return this.wasReady ? null : this.first
  }
}

function notConnected(cause: unknown): never {
  throw disconnected(cause instanceof Error ? cause.message : 'the first connection failed', cause)
}

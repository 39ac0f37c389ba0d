import { ignore, type RedisClient, type Subscription } from './client.ts'

interface Message {
  readonly message: unknown
}

/** @valkey/valkey-glide, as far as it is used. */
export interface Glide {
  customCommand(args: string[]): Promise<unknown>
  close(): void
}

/** What glide keeps for itself; a second connection to the same server cannot be made without it. */
interface GlideInside {
  readonly config: object
  readonly constructor: { createClient(config: object): Promise<Glide> }
}

/** Exact channels, in the numbering of glide's configuration. */
const EXACT = 0

/** Glide waits for a connection by itself, but no longer than its own request time-out. */
export class GlideClient implements RedisClient {
  readonly topology = 'single'
  readonly cluster = null
  readonly keyPrefix = ''
  private readonly client: Glide

  constructor(client: Glide) {
    this.client = client
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    return this.client.customCommand([command, ...args])
  }

  subscribe(channel: string, listener: (message: string) => void, up: () => void): Subscription {
    const inside = this.client as unknown as GlideInside
    const subscriber = inside.constructor.createClient({
      ...inside.config,
      pubsubSubscriptions: {
        channelsAndPatterns: { [EXACT]: new Set([channel]) },
        callback: ({ message }: Message) => listener(String(message)),
      },
    })
    return {
      begun: subscriber.then(up, ignore),
      close: () => subscriber.then((client) => client.close(), ignore),
    }
  }

  async close(): Promise<void> {}
}

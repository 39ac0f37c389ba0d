import { ignore, type RedisClient, type Subscription } from './client.ts'

interface Message {
  readonly message: unknown
}

/** @valkey/valkey-glide, as far as it is used. */
export interface Glide {
  customCommand(args: string[]): Promise<unknown>
  /** Settles when the server has confirmed; since 2.3. */
  subscribe?(channels: Iterable<string>, timeoutMs: number): Promise<void>
  unsubscribeLazy?(channels: Iterable<string>): Promise<void>
  close(): void
}

/** What glide keeps for itself; a second connection to the same server cannot be made without it. */
interface GlideInside {
  readonly config: object
  readonly constructor: { createClient(config: object): Promise<Glide> }
}

/** Exact channels, in the numbering of glide's configuration. */
const EXACT = 0
const CONFIRMATION_MS = 2000

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
    // Newer versions subscribe behind one's back when they are told at the beginning, and pushes are missed meanwhile.
    const confirms = this.client.subscribe !== undefined
    const subscriber = inside.constructor.createClient({
      ...inside.config,
      pubsubSubscriptions: {
        channelsAndPatterns: confirms ? {} : { [EXACT]: new Set([channel]) },
        callback: ({ message }: Message) => listener(String(message)),
      },
    })
    const begun = subscriber.then((client) => client.subscribe?.([channel], CONFIRMATION_MS)).then(up, ignore)
    return {
      begun,
      close: () => begun.then(() => subscriber).then((client) => leave(client, channel), ignore),
    }
  }

  async close(): Promise<void> {}
}

/** It complains aloud about subscriptions that it still has when it is closed. */
async function leave(client: Glide, channel: string): Promise<void> {
  try {
    await client.unsubscribeLazy?.([channel])
  } finally {
    client.close()
  }
}

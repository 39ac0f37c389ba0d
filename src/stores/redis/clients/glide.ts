import { disconnected, ignore, type RedisClient, SilentError, type Subscription } from './client.ts'

interface Message {
  readonly message: unknown
}

/** @valkey/valkey-glide, as far as it is used. */
export interface Glide {
  customCommand(args: string[], options: object): Promise<unknown>
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
/** Strings as texts, in the numbering of glide's decoders: the client may be set up to return bytes. */
const AS_TEXT = { decoder: 1 }

/** Glide waits for a connection by itself, but no longer than its own request time-out. */
export class GlideClient implements RedisClient {
  readonly topology = 'single'
  readonly cluster = null
  readonly keyPrefix = ''
  private readonly model: Glide
  /** The connection of our own that replaces the one of the model. */
  private readonly own: Promise<Glide> | null

  constructor(model: Glide, own: Promise<Glide> | null = null) {
    this.model = model
    this.own = own
    own?.catch(ignore)
  }

  async send(command: string, args: readonly string[]): Promise<unknown> {
    const client = this.own === null ? this.model : await this.own.catch(notConnected)
    try {
      return await client.customCommand([command, ...args], AS_TEXT)
    } catch (error) {
      throw error instanceof Error && error.name === 'TimeoutError' ? new SilentError(error) : error
    }
  }

  fresh(): RedisClient {
    const inside = this.model as unknown as GlideInside
    return new GlideClient(this.model, inside.constructor.createClient(inside.config))
  }

  subscribe(channel: string, listener: (message: string) => void, up: () => void): Subscription {
    const inside = this.model as unknown as GlideInside
    // Newer versions subscribe behind one's back when they are told at the beginning, and pushes are missed meanwhile.
    const confirms = this.model.subscribe !== undefined
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

  async close(): Promise<void> {
    this.own?.then((client) => client.close(), ignore)
  }
}

function notConnected(cause: unknown): never {
  throw disconnected('the first connection failed', cause)
}

/** It complains aloud about subscriptions that it still has when it is closed. */
async function leave(client: Glide, channel: string): Promise<void> {
  try {
    await client.unsubscribeLazy?.([channel])
  } finally {
    client.close()
  }
}

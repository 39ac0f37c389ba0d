import {
  type ChannelListener,
  disconnected,
  ignore,
  type RedisClient,
  SilentError,
  type Subscription,
} from './client.ts'

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

/** Private parts of glide; a second connection to the same server needs them. */
interface GlideInside {
  readonly config: object
  readonly constructor: { createClient(config: object): Promise<Glide> }
}

/** Exact channels in glide's configuration. */
const EXACT = 0
const CONFIRMATION_MS = 2000
/** Glide's decoder for strings: the user's client may return bytes. */
const AS_TEXT = { decoder: 1 }

/** Glide itself waits for a connection, but no longer than its own request timeout. */
export class GlideClient implements RedisClient {
  readonly topology = 'single'
  readonly cluster = null
  readonly keyPrefix = ''
  private readonly model: Glide
  /** Our own connection, which replaces the one of the model. */
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

  subscribe({ channel, receive, up }: ChannelListener): Subscription {
    const inside = this.model as unknown as GlideInside
    // Newer versions subscribe in the background if the channel is in the configuration, and miss messages meanwhile.
    const confirms = this.model.subscribe !== undefined
    const subscriber = inside.constructor.createClient({
      ...inside.config,
      pubsubSubscriptions: {
        channelsAndPatterns: confirms ? {} : { [EXACT]: new Set([channel]) },
        callback: ({ message }: Message) => receive(String(message)),
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

/** Glide logs an error for subscriptions that are left when it closes. */
async function leave(client: Glide, channel: string): Promise<void> {
  try {
    await client.unsubscribeLazy?.([channel])
  } finally {
    client.close()
  }
}

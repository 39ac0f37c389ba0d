import {
  type ChannelListener,
  disconnected,
  type Emitter,
  firstConnection,
  ignore,
  type NotSentError,
  type RedisClient,
  type Subscription,
  type Topology,
  withoutCommand,
} from './client.ts'

/** ioredis 5 and 6, as far as it is used. */
export interface Ioredis extends Emitter {
  readonly status: string
  readonly options: {
    readonly keyPrefix?: string
    readonly sentinels?: unknown
    readonly db?: number
    readonly stringNumbers?: boolean
  }
  readonly stream?: { readonly writable: boolean; readonly errored?: Error | null; destroy(): unknown }
  /** The database that was selected last. */
  readonly condition?: { readonly select?: number } | null
  call(command: string, args: readonly string[]): Promise<unknown>
  sendCommand(command: object): Promise<unknown>
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  duplicate(options: object): Ioredis
  disconnect(): void
}

interface Command {
  pipelineIndex?: number
  transformReply(reply: unknown): unknown
}

type CommandClass = new (
  name: string,
  args: readonly string[],
  options: { readonly replyEncoding: 'utf8'; readonly keyPrefix: string },
) => Command

/** For our own connections: a command that cannot be sent fails, and nothing is resent when a connection breaks. */
export const IOREDIS_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectAfterMs,
} as const

/** Detects a failover while the old master is silent, or still believes that it is one. */
export const SENTINEL_OPTIONS = {
  failoverDetector: true,
  /** A sentinel that is silent for longer is skipped. */
  sentinelCommandTimeout: 1000,
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} as const

export function reconnectAfterMs(attempts: number): number {
  return Math.min(attempts * 50, 500)
}

export class IoredisClient implements RedisClient {
  readonly topology: Topology
  readonly cluster = null
  readonly keyPrefix: string
  private readonly client: Ioredis
  private readonly Command: CommandClass
  private readonly end: () => void
  private first: Promise<unknown> | null = null
  private wasReady = false

  constructor(client: Ioredis, owned: boolean) {
    this.client = client
    const Base = commandClassOf(client)
    this.Command = client.options.stringNumbers === true ? numberedClass(Base) : Base
    this.end = owned ? lasting(client) : ignore
    this.topology = client.options.sentinels ? 'sentinel' : 'single'
    this.keyPrefix = client.options.keyPrefix ?? ''
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.client.status === 'ready') {
      this.wasReady = true
      return this.sendOnce(command, args)
    }
    const first = this.wasReady ? null : this.connecting()
    if (first === null) return Promise.reject(this.notConnected(this.client.status))
    return first.then(() => {
      this.wasReady = true
      return this.sendOnce(command, args)
    })
  }

  /**
   * By default ioredis resends commands that were under way when its connection broke, however late that is, and a take from a stock
   * would run twice. It gives up commands of a pipeline that is not whole: every command of ours looks like one.
   */
  private sendOnce(name: string, args: readonly string[]): Promise<unknown> {
    const { client, keyPrefix } = this
    // Between the end of a connection and its closing, ioredis would keep a command for the next one.
    if (client.stream?.writable !== true)
      return Promise.reject(this.notConnected('its connection is at an end'))
    const command = new this.Command(name, args, { replyEncoding: 'utf8', keyPrefix })
    command.pipelineIndex = -1
    return client.sendCommand(command)
  }

  subscribe({ channel, receive, up, down = ignore }: ChannelListener): Subscription {
    const subscriber = this.client.duplicate({
      lazyConnect: true,
      failoverDetector: true,
      keyPrefix: '',
      autoResubscribe: false,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      retryStrategy: reconnectAfterMs,
    })
    ignoreErrors(subscriber)
    subscriber.on('close', down)
    subscriber.on('message', (_channel: string, message: string) => receive(message))
    const begun = new Promise<void>((resolve) => {
      subscriber.on('ready', () => {
        void subscriber.subscribe(channel).then(up, ignore).then(resolve)
      })
      subscriber.on('close', resolve)
    })
    const end = lasting(subscriber)
    subscriber.connect().catch(ignore)
    return { begun, close: async () => end() }
  }

  fresh(): RedisClient {
    const { client, topology } = this
    const db = client.condition?.select ?? client.options.db ?? 0
    const own = client.duplicate({ ...IOREDIS_OPTIONS, ...(topology === 'sentinel' && SENTINEL_OPTIONS), db })
    ignoreErrors(own)
    return new IoredisClient(own, true)
  }

  async close(): Promise<void> {
    this.end()
  }

  /** With the error that ended the last connection, which ioredis only emits. */
  private notConnected(state: string): NotSentError {
    return disconnected(state, this.client.stream?.errored ?? null)
  }

  private connecting(): Promise<unknown> | null {
    const { status } = this.client
    if (status === 'wait') this.first ??= connectFirst(this.client).catch(notConnected)
    else if (status === 'connecting' || status === 'connect')
      this.first ??= firstConnection(this.client, ['close', 'end'])
    else if (this.first !== null) this.wasReady = true
    return this.wasReady ? null : this.first
  }
}

function notConnected(cause: unknown): never {
  throw disconnected('the first connection failed', cause)
}

/** Connects, or rejects with the reason: the library itself only says that the connection is closed. */
export async function connectFirst(client: Ioredis): Promise<void> {
  let failure: unknown = null
  const note = (error: unknown) => {
    failure = error
  }
  client.on('error', note)
  try {
    await client.connect()
  } catch (error) {
    throw withoutCommand(failure ?? error)
  } finally {
    client.off('error', note)
  }
}

/** A silent server does not answer the end of the connection, either. */
export function disconnect(client: Ioredis): void {
  client.disconnect()
  client.stream?.destroy()
}

/**
 * Reconnects when ioredis gives up, and returns a function that ends the connection. A failover during the search for a master
 * stops that search, and ioredis takes this for the end.
 */
function lasting(client: Ioredis): () => void {
  let ended = false
  client.on('end', () => {
    if (!ended) client.connect().catch(ignore)
  })
  return () => {
    ended = true
    disconnect(client)
  }
}

/**
 * Opens our own connection with the settings of a sentinel client: a client that does not listen to the sentinels keeps writing to
 * a master that was replaced, as long as that runs.
 */
export function sentinelClientOf(client: Ioredis): RedisClient {
  const own = client.duplicate({ ...IOREDIS_OPTIONS, ...SENTINEL_OPTIONS })
  ignoreErrors(own)
  return new IoredisClient(own, true)
}

/**
 * ioredis prints errors without a listener; ours come back with the calls that failed. The connections to the sentinels, which
 * report failovers, are made inside of ioredis and have no listener, either.
 */
export function ignoreErrors(client: Ioredis, sentinelFailed: (error: unknown) => void = ignore): void {
  client.on('error', ignore)
  const { connector } = client as Ioredis & { readonly connector?: SentinelConnector }
  const connect = connector?.connectToSentinel
  if (connector === undefined || connect === undefined) return
  connector.connectToSentinel = (...args) => {
    const sentinel = connect.apply(connector, args)
    sentinel.on('error', sentinelFailed)
    return sentinel
  }
}

interface SentinelConnector {
  connectToSentinel?(...args: unknown[]): Emitter
}

/** The command class of a client, from a command that is made and not sent. */
function commandClassOf(client: Ioredis): CommandClass {
  let made: object | null = null
  const sendCommand = async (command: object) => {
    made = command
  }
  const options = { ...client.options, enableAutoPipelining: false }
  const probe = Object.create(client, { sendCommand: { value: sendCommand }, options: { value: options } })
  void (probe as Ioredis).call('ping', [])
  return (made as unknown as { constructor: CommandClass }).constructor
}

/**
 * For a client that returns integers as texts. Strings are still bytes when a reply arrives here, so a text can only be an
 * integer.
 */
function numberedClass(Base: CommandClass): CommandClass {
  return class extends Base {
    override transformReply(reply: unknown): unknown {
      return super.transformReply(withNumbers(reply))
    }
  }
}

function withNumbers(reply: unknown): unknown {
  if (typeof reply === 'string') return Number(reply)
  return Array.isArray(reply) ? reply.map(withNumbers) : reply
}

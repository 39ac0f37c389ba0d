import { InvalidArgumentError, UnsupportedError } from '../../errors.ts'
import { disconnected, type Emitter, ignore } from '../../stores/redis/clients/client.ts'

/** An argument of a command. */
export type Argument = string | number | bigint | Uint8Array

/** One connection for one transaction at a time. Once it broke it stays broken: a new one would watch nothing. */
export interface TransactionConnection {
  readonly usable: boolean
  send(command: string, args: readonly (string | Buffer)[]): Promise<unknown>
  /** An idle connection does not keep the process alive. */
  idle(): void
  busy(): void
  close(): void
}

type Method = (...args: never[]) => unknown

/** A client of ioredis 5 or 6, or of node-redis 5 or 6, connected to one server. */
export type TransactionClient =
  | { readonly status: string; readonly call: Method; readonly duplicate: Method }
  | { readonly isReady: boolean; readonly sendCommand: Method; readonly duplicate: Method }

interface Ioredis extends Emitter {
  readonly status: string
  readonly stream: { ref(): unknown; unref(): unknown }
  call(command: string, args: readonly (string | Buffer)[]): Promise<unknown>
  connect(): Promise<unknown>
  duplicate(options: object): Ioredis
  disconnect(): void
}

interface NodeRedis extends Emitter {
  readonly isReady: boolean
  readonly isOpen: boolean
  readonly options?: { readonly socket?: object }
  sendCommand(args: readonly (string | Buffer)[], options: object): Promise<unknown>
  connect(): Promise<unknown>
  duplicate(options: object): NodeRedis
  ref(): void
  unref(): void
  destroy(): void
}

type Shape = Partial<Record<string, unknown>>

/** How connections like that of a client are opened. */
export interface Connector {
  /** False once the client was closed: then nothing of it is kept. */
  readonly alive: boolean
  open(): Opening
}

/** A connection that can be used as soon as `ready` resolves, and closed at any time. */
export interface Opening {
  readonly connection: TransactionConnection
  readonly ready: Promise<unknown>
}

export function connectorOf(client: TransactionClient): Connector {
  const shape = client as unknown as Shape | null
  if (typeof shape === 'object' && shape !== null) {
    if (shape.isCluster === true || 'slots' in shape)
      throw new UnsupportedError('a transaction needs a client of one server, not of a cluster')
    if (typeof shape.customCommand === 'function')
      throw new UnsupportedError(
        'a transaction needs a client of ioredis or node-redis: glide hides reconnects',
      )
    if (typeof shape.isReady === 'boolean' && typeof shape.duplicate === 'function')
      return nodeRedisConnector(client as unknown as NodeRedis)
    if (typeof shape.status === 'string' && typeof shape.duplicate === 'function')
      return ioredisConnector(client as unknown as Ioredis)
  }
  throw new InvalidArgumentError('client', 'must be a client of ioredis or of redis (node-redis)')
}

/** For connections that neither come back by themselves nor keep anything for later. */
const IOREDIS_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  reconnectOnError: null,
}

function ioredisConnector(client: Ioredis): Connector {
  return {
    get alive() {
      return client.status !== 'end'
    },
    open: () => openIoredis(client),
  }
}

function openIoredis(client: Ioredis): Opening {
  if (client.status === 'end') throw disconnected(client.status)
  const own = client.duplicate(IOREDIS_OPTIONS)
  own.on('error', ignore)
  const connection: TransactionConnection = {
    get usable() {
      return own.status === 'ready'
    },
    send: (command, args) => own.call(command, args),
    idle: () => void own.stream.unref(),
    busy: () => void own.stream.ref(),
    close: () => own.disconnect(),
  }
  return { connection, ready: own.connect() }
}

/** Version 6 arms a signal for every command; ours are bounded by the deadline of the transaction. */
const UNTIMED = { timeout: undefined }

function nodeRedisConnector(client: NodeRedis): Connector {
  return {
    get alive() {
      return client.isOpen
    },
    open: () => openNodeRedis(client),
  }
}

function openNodeRedis(client: NodeRedis): Opening {
  if (!client.isOpen) throw disconnected('it was closed, or its connect() was not called')
  const socket = { ...client.options?.socket, reconnectStrategy: false }
  const own = client.duplicate({ socket, disableOfflineQueue: true })
  own.on('error', ignore)
  const connection: TransactionConnection = {
    get usable() {
      return own.isReady
    },
    send: (command, args) => own.sendCommand([command, ...args], UNTIMED),
    idle: () => own.unref(),
    busy: () => own.ref(),
    close: () => {
      if (own.isOpen) own.destroy()
    },
  }
  return { connection, ready: own.connect() }
}

import type { Address } from '../cluster/node.ts'
import { type ConnectionSettings, silentMsOf } from '../options.ts'
import {
  type ChannelListener,
  disconnected,
  type Emitter,
  ignore,
  NotSentError,
  type RedisClient,
  type Subscription,
} from './client.ts'
import type { NodeRedis } from './node-redis.ts'
import { openNodeRedisNode } from './node-redis-cluster.ts'
import { ReplacingClient } from './replacing.ts'

/** The sentinel class of node-redis 5 and 6, as far as it is used. */
export interface NodeRedisSentinel extends Emitter {
  readonly isOpen: boolean
  getMasterNode(): Address | undefined
  destroy(): Promise<void> | void
}

/** A private part of the class; a second connection to the same master needs it. */
interface Inside {
  _execute<T>(isReadonly: boolean, task: (client: NodeRedis) => Promise<T> | T): Promise<T>
}

interface Change {
  readonly type: string
  readonly node?: Address
}

interface Master {
  readonly address: Address
  readonly client: RedisClient
}

/** A listener and its subscription at the present master. */
interface Attachment {
  readonly listener: ChannelListener
  subscription: Subscription | null
}

/**
 * Our own connections to the master that a sentinel client names. The client itself would resend commands that may have run, and
 * queue commands while it looks for a master.
 */
export class NodeRedisSentinelClient implements RedisClient {
  readonly topology = 'sentinel'
  readonly cluster = null
  readonly keyPrefix = ''
  private readonly sentinel: NodeRedisSentinel
  private readonly owned: boolean
  private readonly settings: ConnectionSettings
  private readonly attachments = new Set<Attachment>()
  private model: NodeRedis | null = null
  private master: Master | null = null
  private finding: Promise<Master> | null = null
  private closed = false

  constructor(sentinel: NodeRedisSentinel, owned: boolean, settings: ConnectionSettings) {
    this.sentinel = sentinel
    this.owned = owned
    this.settings = settings
    sentinel.on('topology-change', this.changed)
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.master === null) return this.find().then(({ client }) => client.send(command, args))
    return this.master.client.send(command, args).catch((error) => {
      // The sentinel client has a connection to the same server, and looks for another one when that is broken.
      if (error instanceof NotSentError) this.find().catch(ignore)
      throw error
    })
  }

  subscribe(listener: ChannelListener): Subscription {
    const attachment: Attachment = { listener, subscription: null }
    this.attachments.add(attachment)
    if (this.master !== null) attach(attachment, this.master.client)
    const begun = this.find().then(() => attachment.subscription?.begun, ignore)
    const close = async () => {
      this.attachments.delete(attachment)
      await attachment.subscription?.close()
    }
    return { begun, close }
  }

  async close(): Promise<void> {
    this.closed = true
    this.sentinel.off('topology-change', this.changed)
    await this.master?.client.close()
    if (this.owned) await this.sentinel.destroy()
  }

  private find(): Promise<Master> {
    this.finding ??= this.learn().finally(() => {
      this.finding = null
    })
    return this.finding
  }

  private async learn(): Promise<Master> {
    const { sentinel } = this
    if (!sentinel.isOpen || this.closed) throw disconnected('it was closed, or its connect() was not called')
    const inside = sentinel as unknown as Inside
    // Waits for a connection that is under way.
    const model = await inside._execute(false, (client) => client)
    this.model ??= model
    const address = sentinel.getMasterNode()
    if (address === undefined) throw disconnected('its sentinels name no master')
    return this.follow(address)
  }

  private readonly changed = ({ type, node }: Change): void => {
    if (type === 'MASTER_CHANGE' && node !== undefined && this.model !== null) this.follow(node)
  }

  /** Sends everything to that server from now on. Unanswered commands of the previous one have an unknown outcome. */
  private follow(address: Address): Master {
    const before = this.master
    if (before !== null && before.address.host === address.host && before.address.port === address.port)
      return before
    if (this.model === null || this.closed) throw disconnected('it was closed')
    const opened = openNodeRedisNode(this.model, address)
    const client = new ReplacingClient(opened, this.settings.runtime, silentMsOf(this.settings))
    this.master = { address, client }
    for (const attachment of this.attachments) attach(attachment, client)
    void before?.client.close()
    return this.master
  }
}

function attach(attachment: Attachment, client: RedisClient): void {
  void attachment.subscription?.close()
  attachment.subscription = client.subscribe(attachment.listener)
}

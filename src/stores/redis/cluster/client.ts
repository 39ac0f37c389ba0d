import type { Runtime } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import {
  type ChannelListener,
  type ClusterRoutes,
  type Master,
  NotSentError,
  type RedisClient,
  type Subscription,
} from '../clients/client.ts'
import { ReplacingClient } from '../clients/replacing.ts'
import { type ConnectionSettings, silentMsOf } from '../options.ts'
import { ConfirmingClient } from '../replicas.ts'
import { ClusterMap, type Dialer } from './map.ts'
import { type Address, addressText, isAboutScript, type Node, redirectionOf } from './node.ts'
import { RoamingSubscription } from './roaming-subscription.ts'
import { slotOf } from './slots.ts'

/** Of EVALSHA and EVAL. */
const KEY_AT = 2
const MOST_REDIRECTIONS = 5

/**
 * Sends each script to the server that has its slot. A command is resent only if nothing was done for certain; the cluster classes of
 * the client libraries also resend commands that may have run.
 */
export class ClusterClient implements RedisClient {
  readonly topology = 'cluster'
  readonly cluster: ClusterRoutes = this
  readonly keyPrefix: string
  private readonly runtime: Runtime
  private readonly map: ClusterMap
  private readonly subscriptions = new Set<RoamingSubscription>()
  private closed = false

  constructor(dialer: Dialer, settings: ConnectionSettings) {
    const { runtime } = settings
    this.runtime = runtime
    this.keyPrefix = dialer.keyPrefix
    this.map = new ClusterMap(lasting(dialer, settings), runtime, () => {
      for (const subscription of this.subscriptions) subscription.review(this.map.masters())
    })
  }

  slotOf(name: string): number {
    return slotOf(this.keyPrefix + name)
  }

  async masters(): Promise<readonly Master[]> {
    await this.map.look()
    return this.map.masters().map(({ address, client }) => ({ name: addressText(address), client }))
  }

  /** Finds the cluster; rejects when no server of it answers. */
  connect(): Promise<void> {
    return this.map.look()
  }

  /** Scripts only: their first key decides the server. */
  async send(command: string, args: readonly string[]): Promise<unknown> {
    const slot = this.slotOf(args[KEY_AT] as string)
    let node = this.map.ownerOf(slot)
    if (node === undefined) {
      await this.map.look()
      node = this.map.ownerOf(slot)
    } else if (node.silent) this.map.lookSoon(node)
    if (node === undefined)
      throw new StoreError(`no server of the Redis cluster has slot ${slot}; nothing was sent`)
    let asking = false
    for (let left = MOST_REDIRECTIONS; ; left--) {
      try {
        return await (asking ? node.sendAsking(command, args) : node.send(command, args))
      } catch (error) {
        const next: Node | null = left > 0 && !this.closed ? await this.nextFor(error, node, slot) : null
        if (next === null) throw error
        asking = redirectionOf(error)?.once === true
        node = next
      }
    }
  }

  subscribe(listener: ChannelListener): Subscription {
    const subscription = new RoamingSubscription(this.runtime, () => this.masterNodes(), listener)
    this.subscriptions.add(subscription)
    const close = () => {
      this.subscriptions.delete(subscription)
      return subscription.close()
    }
    return { begun: subscription.begun, close }
  }

  async close(): Promise<void> {
    this.closed = true
    await Promise.all([...this.subscriptions].map((subscription) => subscription.close()))
    await this.map.close()
  }

  private async masterNodes(): Promise<readonly Node[]> {
    if (this.map.masters().length === 0) await this.map.look()
    return this.map.masters()
  }

  /** The next server after an error that proves that nothing was done, else null. */
  private async nextFor(error: unknown, node: Node, slot: number): Promise<Node | null> {
    const redirection = redirectionOf(error)
    if (redirection !== null) {
      const { once, host, port } = redirection
      const next = this.map.at({ host: host === '' ? node.address.host : host, port })
      if (!once) this.map.moved(slot, node, next)
      return next
    }
    if (error instanceof NotSentError) {
      await this.map.look(node).catch(() => {})
      const owner = this.map.ownerOf(slot)
      return owner === node || owner === undefined ? null : owner
    }
    if (!isAboutScript(error)) this.map.lookSoon(node)
    return null
  }
}

/** Adds the replacement of silent connections. WAIT goes to each server separately, on the connection of the scripts. */
function lasting(dialer: Dialer, settings: ConnectionSettings): Dialer {
  const { runtime, replicas } = settings
  const open = (address: Address): RedisClient => {
    const client = new ReplacingClient(dialer.open(address), runtime, silentMsOf(settings))
    return replicas === null ? client : new ConfirmingClient(client, replicas)
  }
  return {
    keyPrefix: dialer.keyPrefix,
    seeds: () => dialer.seeds(),
    open,
    reach: (address) => dialer.reach(address),
  }
}

import type { Dialer } from '../cluster/map.ts'
import type { Address } from '../cluster/node.ts'
import { disconnected, type Emitter, firstConnection, type RedisClient } from './client.ts'
import { type NodeRedis, NodeRedisClient, ownLike } from './node-redis.ts'

type AddressMap = Readonly<Record<string, Address>> | ((address: string) => Address | undefined)

/** The cluster class of node-redis 5 and 6, as far as it is used. */
export interface NodeRedisCluster extends Emitter {
  readonly isOpen: boolean
  readonly masters: readonly Address[]
  nodeClient(node: Address): NodeRedis | Promise<NodeRedis>
}

/** Private parts of the cluster class. */
interface Inside {
  readonly _options?: { readonly nodeAddressMap?: AddressMap }
}

/** Opens connections like those of the user's cluster client: its credentials, TLS and map of addresses. */
export class NodeRedisDialer implements Dialer {
  readonly keyPrefix = ''
  private readonly cluster: NodeRedisCluster
  private model: NodeRedis | null = null

  constructor(cluster: NodeRedisCluster) {
    this.cluster = cluster
  }

  async seeds(): Promise<readonly Address[]> {
    const { cluster } = this
    if (!cluster.isOpen) throw disconnected('it was closed, or its connect() was not called')
    if (cluster.masters.length === 0) await firstConnection(cluster, ['disconnect'], 'connect')
    const { masters } = cluster
    this.model ??= masters[0] === undefined ? null : await cluster.nodeClient(masters[0])
    return masters.map(({ host, port }) => this.reach({ host, port }))
  }

  open(address: Address): RedisClient {
    if (this.model === null) throw disconnected('it knows of no server yet')
    return openNodeRedisNode(this.model, address)
  }

  reach(address: Address): Address {
    const map = (this.cluster as unknown as Inside)._options?.nodeAddressMap
    const name = `${address.host}:${address.port}`
    return (typeof map === 'function' ? map(name) : map?.[name]) ?? address
  }
}

/** A connection to one server with the settings of `model`. */
export function openNodeRedisNode(model: NodeRedis, { host, port }: Address): RedisClient {
  return new NodeRedisClient(ownLike(model, { host, port }), true)
}

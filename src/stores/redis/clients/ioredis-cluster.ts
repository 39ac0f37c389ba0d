import type { Dialer } from '../cluster/map.ts'
import type { Address } from '../cluster/node.ts'
import { disconnected, type Emitter, firstConnection, ignore, type RedisClient } from './client.ts'
import { IOREDIS_OPTIONS, type Ioredis, IoredisClient } from './ioredis.ts'

type AddressMap = Readonly<Record<string, Address>> | ((address: string) => Address | null)

/** The cluster class of ioredis 5 and 6, as far as it is used. */
export interface IoredisCluster extends Emitter {
  readonly status: string
  readonly options: { readonly keyPrefix?: string; readonly natMap?: AddressMap }
  nodes(role: 'master' | 'all'): readonly IoredisNode[]
  connect(): Promise<void>
}

export interface IoredisNode extends Ioredis {
  readonly options: Ioredis['options'] & Partial<Address>
}

/** Opens connections like those of the user's cluster client: its credentials, TLS and map of addresses. */
export class IoredisDialer implements Dialer {
  readonly keyPrefix: string
  private readonly cluster: IoredisCluster
  private model: Ioredis | null = null

  constructor(cluster: IoredisCluster) {
    this.cluster = cluster
    this.keyPrefix = cluster.options.keyPrefix ?? ''
  }

  async seeds(): Promise<readonly Address[]> {
    const { cluster } = this
    if (cluster.status === 'wait') await cluster.connect()
    else if (cluster.status === 'connecting' || cluster.status === 'connect')
      await firstConnection(cluster, ['close', 'end'])
    const nodes = cluster.nodes('all')
    this.model ??= nodes[0] ?? null
    return nodes.map(({ options: { host = '127.0.0.1', port = 6379 } }) => ({ host, port }))
  }

  open(address: Address): RedisClient {
    if (this.model === null) throw disconnected(this.cluster.status)
    return openIoredisNode(this.model, address, this.keyPrefix)
  }

  reach(address: Address): Address {
    const { natMap } = this.cluster.options
    const name = `${address.host}:${address.port}`
    return (typeof natMap === 'function' ? natMap(name) : natMap?.[name]) ?? address
  }
}

/** A connection to one server with the settings of `model`. */
export function openIoredisNode(model: Ioredis, address: Address, keyPrefix: string): RedisClient {
  const client = model.duplicate({
    ...IOREDIS_OPTIONS,
    ...address,
    keyPrefix,
    readOnly: false,
    // Commands of one turn must keep their order: ASKING goes right before its command.
    enableAutoPipelining: false,
  })
  client.on('error', ignore)
  return new IoredisClient(client, true)
}

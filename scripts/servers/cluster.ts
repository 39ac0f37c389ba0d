import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './ports.ts'
import { RedisServer } from './redis.ts'

const MASTERS = 3
const SLOTS = 16_384
const SETTLE_MS = 20_000
const FAILOVER_MS = 5500

export interface ClusterNode {
  readonly server: RedisServer
  /** A connection of the operator's own, to this node alone. */
  readonly operator: Redis
  readonly id: string
}

/** Three masters, each with a third of the slots and one replica, on the loopback interface. */
export async function startCluster(args: readonly string[] = []): Promise<RedisCluster> {
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startNode(args)))
  const cluster = new RedisCluster(nodes)
  await cluster.join()
  return cluster
}

async function startNode(args: readonly string[]): Promise<ClusterNode> {
  // The bus would otherwise take the port plus 10,000, which most free ports leave no room for.
  const bus = ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]
  // A replica that has heard nothing of its master for ten node time-outs and a ping never asks to be elected again: under load that is soon.
  const always = ['--cluster-replica-validity-factor', '0']
  const quick = ['--cluster-node-timeout', '1000', '--repl-diskless-sync-delay', '0', ...always]
  const server = new RedisServer(await freePort(), { args: [...bus, ...quick, ...args] })
  await server.start()
  // A server that was killed is given up soon, and one that came back is found soon.
  const operator = new Redis(server.port, { retryStrategy: () => 20 })
  operator.on('error', () => {})
  return { server, operator, id: String(await operator.cluster('MYID')) }
}

export class RedisCluster {
  readonly nodes: readonly ClusterNode[]

  constructor(nodes: readonly ClusterNode[]) {
    this.nodes = nodes
  }

  get ports(): readonly number[] {
    return this.nodes.map(({ server }) => server.port)
  }

  get url(): string {
    return `redis+cluster://${this.ports.map((port) => `127.0.0.1:${port}`).join(',')}`
  }

  /** Makes one cluster of the nodes. What `redis-cli --cluster create` does, without its pauses of a second. */
  async join(): Promise<void> {
    const [first, ...others] = this.nodes as [ClusterNode, ...ClusterNode[]]
    const busOf = async ({ operator }: ClusterNode) =>
      (await operator.config('GET', 'cluster-port')) as string[]
    for (const [index, node] of this.nodes.entries())
      await node.operator.call('CLUSTER', ['SET-CONFIG-EPOCH', String(index + 1)])
    for (const other of others) {
      const bus = (await busOf(other))[1] as string
      await first.operator.call('CLUSTER', ['MEET', '127.0.0.1', String(other.server.port), bus])
    }
    for (const [index, master] of this.nodes.slice(0, MASTERS).entries()) {
      const from = Math.ceil((index * SLOTS) / MASTERS)
      const to = Math.ceil(((index + 1) * SLOTS) / MASTERS) - 1
      await master.operator.call('CLUSTER', ['ADDSLOTSRANGE', String(from), String(to)])
    }
    await this.until('every node knows the others', async () =>
      (await this.infos('CLUSTER', ['INFO'])).every((info) => info.includes('cluster_known_nodes:6')),
    )
    for (const [index, replica] of this.nodes.slice(MASTERS).entries())
      await replica.operator.call('CLUSTER', ['REPLICATE', (this.nodes[index] as ClusterNode).id])
    await this.settle()
  }

  /** Every slot is served, every node agrees, and every replica has its master's data. */
  async settle(): Promise<void> {
    await this.until('the cluster is whole', async () => {
      const infos = await this.infos('CLUSTER', ['INFO'])
      if (!infos.every((info) => info.includes('cluster_state:ok'))) return false
      const replications = await this.infos('INFO', ['replication'])
      const replicas = replications.filter((info) => info.includes('role:slave'))
      if (replicas.length !== this.nodes.length - MASTERS) return false
      // A replica whose link has not come up since never promotes itself.
      if (!replicas.every((info) => info.includes('master_link_status:up'))) return false
      const maps = await Promise.all(
        this.nodes.map(async ({ operator }) => owners(await operator.cluster('SLOTS'))),
      )
      return maps.every((map) => map === maps[0])
    })
  }

  /** The node that serves a slot, as the cluster sees it now. */
  async ownerOf(slot: number): Promise<ClusterNode> {
    for (const { operator } of this.nodes) {
      const ranges = (await operator.cluster('SLOTS').catch(() => [])) as SlotRange[]
      const range = ranges.find(([from, to]) => from <= slot && slot <= to)
      if (range !== undefined) return this.byId(range[2][2])
    }
    throw new Error(`nobody serves slot ${slot}`)
  }

  async masters(): Promise<readonly ClusterNode[]> {
    const roles = await Promise.all(
      this.nodes.map(async (node) => ({ node, role: ((await node.operator.role()) as string[])[0] })),
    )
    return roles.filter(({ role }) => role === 'master').map(({ node }) => node)
  }

  async replicaOf(master: ClusterNode): Promise<ClusterNode> {
    for (const node of this.nodes) {
      const [role, , port] = (await node.operator.role()) as [string, string, number]
      if (role === 'slave' && port === master.server.port) return node
    }
    throw new Error(`no replica of ${master.server.port}`)
  }

  /** The replica of a master takes its place, in good order: nothing is lost. */
  async failOver(master: ClusterNode): Promise<ClusterNode> {
    const replica = await this.replicaOf(master)
    let askedAtMs = Number.NEGATIVE_INFINITY
    await this.until('the replica is a master', async () => {
      const [role] = (await replica.operator.role()) as [string]
      if (role === 'master') return true
      // The server gives a failover up that does not come to its end in five seconds, and says nothing.
      if (performance.now() - askedAtMs > FAILOVER_MS) {
        askedAtMs = performance.now()
        await replica.operator.call('CLUSTER', ['FAILOVER'])
      }
      return false
    })
    return replica
  }

  /** Ends a master as a crash would, and waits until the servers have elected its replica and it serves in its place. */
  async crash(master: ClusterNode): Promise<void> {
    const replica = await this.replicaOf(master)
    await master.server.kill()
    const serves = this.until('the replica serves', async () => {
      const alive = this.nodes.filter((node) => node !== master)
      const maps = await Promise.all(
        alive.map(async ({ operator }) => owners(await operator.cluster('SLOTS'))),
      )
      return !maps.some((map) => map.includes(` ${master.server.port}`))
    })
    await serves.catch((error) => {
      throw new Error(`${error.message}\n${replica.server.log()}`)
    })
  }

  /** Moves a slot with its keys to another master, some keys at a time, while it is in use. */
  async migrate(slot: number, to: ClusterNode, pauseMs = 0): Promise<void> {
    const from = await this.ownerOf(slot)
    if (from === to) return
    await to.operator.call('CLUSTER', ['SETSLOT', String(slot), 'IMPORTING', from.id])
    await from.operator.call('CLUSTER', ['SETSLOT', String(slot), 'MIGRATING', to.id])
    for (;;) {
      const keys = (await from.operator.call('CLUSTER', ['GETKEYSINSLOT', String(slot), '1'])) as string[]
      if (keys.length === 0) break
      const target = ['127.0.0.1', String(to.server.port), '', '0', '5000']
      await from.operator.call('MIGRATE', [...target, 'KEYS', ...keys])
      await sleep(pauseMs)
    }
    // The new owner first: as long as it does not know, nobody serves the slot.
    for (const { operator } of [to, from, ...(await this.masters())])
      await operator.call('CLUSTER', ['SETSLOT', String(slot), 'NODE', to.id])
  }

  async stop(): Promise<void> {
    for (const { operator } of this.nodes) operator.disconnect()
    await Promise.all(this.nodes.map(({ server }) => server.stop()))
  }

  private byId(id: string): ClusterNode {
    const node = this.nodes.find((each) => each.id === id)
    if (node === undefined) throw new Error(`no node has the id ${id}`)
    return node
  }

  private infos(command: string, args: readonly string[]): Promise<string[]> {
    return Promise.all(
      this.nodes.map(async ({ operator }) => String(await operator.call(command, [...args]))),
    )
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const giveUpAtMs = performance.now() + SETTLE_MS
    while (!(await holds())) {
      if (performance.now() > giveUpAtMs) throw new Error(`not within ${SETTLE_MS} ms: ${what}`)
      await sleep(20)
    }
  }
}

type SlotRange = readonly [
  from: number,
  to: number,
  master: readonly [host: string, port: number, id: string],
]

function owners(ranges: unknown): string {
  return (ranges as SlotRange[])
    .map(([from, to, [, port]]) => `${from}-${to} ${port}`)
    .sort()
    .join(';')
}

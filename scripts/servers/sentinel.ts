import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './ports.ts'
import { RedisServer } from './redis.ts'

const REPLICAS = 2
const SENTINELS = 3
const SETTLE_MS = 20_000
const HOST = '127.0.0.1'

export interface SentinelOptions {
  /** A password for the servers, and another one for the sentinels. */
  readonly password?: string
  readonly sentinelPassword?: string
}

/** One master, two replicas and three sentinels that watch them, on the loopback interface. */
export async function startSentinels(options: SentinelOptions = {}): Promise<SentinelGroup> {
  const group = new SentinelGroup(options)
  await group.start()
  return group
}

export class SentinelGroup {
  readonly service = 'mymaster'
  readonly servers: RedisServer[] = []
  readonly sentinels: RedisServer[] = []
  private readonly options: SentinelOptions
  private readonly connections = new Map<RedisServer, Redis>()

  constructor(options: SentinelOptions) {
    this.options = options
  }

  get ports(): readonly number[] {
    return this.sentinels.map(({ port }) => port)
  }

  get url(): string {
    return `redis+sentinel://${this.ports.map((port) => `${HOST}:${port}`).join(',')}/${this.service}`
  }

  /** A connection of the operator's own. */
  operator(server: RedisServer): Redis {
    const known = this.connections.get(server)
    if (known !== undefined) return known
    const { password, sentinelPassword } = this.options
    const secret = this.sentinels.includes(server) ? sentinelPassword : password
    // A server that was killed is given up soon, and one that came back is found soon.
    const made = new Redis(server.port, HOST, {
      retryStrategy: () => 20,
      ...(secret && { password: secret }),
    })
    made.on('error', () => {})
    this.connections.set(server, made)
    return made
  }

  async start(): Promise<void> {
    const { password } = this.options
    const secret = password === undefined ? [] : ['--requirepass', password, '--masterauth', password]
    const master = await this.startServer(secret)
    const follow = ['--replicaof', `${HOST} ${master.port}`, '--repl-diskless-sync-delay', '0']
    await Promise.all(Array.from({ length: REPLICAS }, () => this.startServer([...secret, ...follow])))
    await Promise.all(Array.from({ length: SENTINELS }, () => this.startSentinel(master)))
    await this.settle()
  }

  /** Every sentinel knows the others and both replicas, and every replica has its master's data. */
  async settle(): Promise<void> {
    await this.until('the sentinels agree', async () => {
      const states = await Promise.all(this.sentinels.map((sentinel) => this.stateOf(sentinel)))
      const first = states[0]
      const agreed = states.every(
        (state) =>
          state.port === first?.port &&
          state.flags === 'master' &&
          state['num-other-sentinels'] === String(SENTINELS - 1) &&
          state['num-slaves'] === String(REPLICAS),
      )
      if (!agreed) return false
      const replicas = this.servers.filter(({ port }) => String(port) !== first?.port)
      const infos = await Promise.all(
        replicas.map((server) =>
          this.operator(server)
            .info('replication')
            .catch(() => ''),
        ),
      )
      return infos.every(
        (info) => info.includes('master_link_status:up') && info.includes(`master_port:${first?.port}`),
      )
    })
  }

  /** The server that the sentinels call the master. */
  async master(): Promise<RedisServer> {
    const [sentinel] = this.sentinels as [RedisServer]
    const { port } = await this.stateOf(sentinel)
    return this.servers.find((server) => String(server.port) === port) as RedisServer
  }

  async replicas(): Promise<readonly RedisServer[]> {
    const master = await this.master()
    return this.servers.filter((server) => server !== master)
  }

  /** The sentinels put a replica in the master's place; returns when another server is the master. */
  async failOver(): Promise<RedisServer> {
    const before = await this.master()
    const [sentinel] = this.sentinels as [RedisServer]
    await this.operator(sentinel).call('SENTINEL', ['FAILOVER', this.service])
    return this.untilReplaced(before)
  }

  async untilReplaced(before: RedisServer): Promise<RedisServer> {
    let master = before
    await this.until('another server is the master', async () => {
      master = await this.master()
      if (master === before) return false
      const [role] = (await this.operator(master)
        .role()
        .catch(() => [''])) as string[]
      return role === 'master'
    })
    return master
  }

  async stop(): Promise<void> {
    for (const operator of this.connections.values()) operator.disconnect()
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()))
  }

  private async startServer(args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), { args })
    await server.start()
    this.servers.push(server)
    return server
  }

  private async startSentinel(master: RedisServer): Promise<void> {
    const { password, sentinelPassword } = this.options
    const config = [
      `sentinel monitor ${this.service} ${HOST} ${master.port} 2`,
      `sentinel down-after-milliseconds ${this.service} 1000`,
      `sentinel failover-timeout ${this.service} 5000`,
      `sentinel parallel-syncs ${this.service} ${REPLICAS}`,
    ]
    if (password !== undefined) config.push(`sentinel auth-pass ${this.service} "${password}"`)
    if (sentinelPassword !== undefined)
      config.push(`requirepass "${sentinelPassword}"`, `sentinel sentinel-pass "${sentinelPassword}"`)
    const server = new RedisServer(await freePort(), { program: 'redis-sentinel', config })
    await server.start()
    this.sentinels.push(server)
  }

  private async stateOf(sentinel: RedisServer): Promise<Record<string, string>> {
    const answer = await this.operator(sentinel)
      .call('SENTINEL', ['MASTER', this.service])
      .catch(() => [])
    const fields = answer as string[]
    return Object.fromEntries(
      fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1] ?? '']] : [])),
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

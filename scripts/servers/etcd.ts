import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guarded } from './guarded.ts'
import { freePort } from './ports.ts'
import { startProxy, type TcpProxy } from './proxy.ts'

export interface EtcdOptions {
  /** How many members: default 3. */
  readonly members?: number
  /** True if members speak to each other through proxies, so that they can be parted; default false. */
  readonly parted?: boolean
  /** True if the data is written through to a disk; else it is kept in memory where the system has a folder for that. */
  readonly durable?: boolean
  /** Further arguments of every member. */
  readonly args?: readonly string[]
  /** How clients reach the members: default http. */
  readonly scheme?: 'http' | 'https'
}

const START_MS = 20_000
const MEMORY = '/dev/shm'

/** A cluster of one's own on the loopback interface, with its data in a temporary folder. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdCluster> {
  const count = options.members ?? 3
  const free = new Set<number>()
  while (free.size < count * 3) free.add(await freePort())
  const ports = [...free]
  const proxies: TcpProxy[] = []
  const peerPorts = ports.slice(count, count * 2)
  if (options.parted === true) for (const port of peerPorts) proxies.push(await startProxy(port))
  const cluster = new EtcdCluster(options, ports.slice(0, count), peerPorts, ports.slice(count * 2), proxies)
  await cluster.start()
  return cluster
}

export class EtcdCluster {
  readonly members: readonly EtcdMember[]
  private readonly folder: string
  private readonly proxies: readonly TcpProxy[]

  constructor(
    options: EtcdOptions,
    clientPorts: readonly number[],
    peerPorts: readonly number[],
    metricsPorts: readonly number[],
    proxies: readonly TcpProxy[],
  ) {
    this.proxies = proxies
    const inMemory = options.durable !== true && existsSync(MEMORY)
    this.folder = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), 'holdfast-etcd-'))
    const advertised = peerPorts.map((port, index) => proxies[index]?.port ?? port)
    const cluster = advertised.map((port, index) => `m${index}=http://127.0.0.1:${port}`).join(',')
    this.members = clientPorts.map(
      (port, index) =>
        new EtcdMember({
          name: `m${index}`,
          folder: join(this.folder, `m${index}`),
          port,
          peerPort: peerPorts[index] as number,
          advertisedPeerPort: advertised[index] as number,
          metricsPort: metricsPorts[index] as number,
          cluster,
          options,
        }),
    )
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ port }) => `127.0.0.1:${port}`)
  }

  get url(): string {
    return `etcd://${this.endpoints.join(',')}`
  }

  async start(): Promise<void> {
    for (const member of this.members) member.spawn()
    await this.untilReady()
  }

  /** Every member answers and knows the leader. */
  async untilReady(): Promise<void> {
    await Promise.all(this.members.map((member) => member.untilReady()))
  }

  /** The member that leads, as the others see it too. */
  async leader(): Promise<EtcdMember> {
    const giveUpAtMs = performance.now() + START_MS
    for (;;) {
      for (const member of this.members) if (await member.isLeader()) return member
      if (performance.now() > giveUpAtMs) throw new Error('etcd has no leader')
      await sleep(20)
    }
  }

  /** Cuts one member off from the others, both ways; clients still reach it. Needs `parted`. */
  async part(member: EtcdMember): Promise<void> {
    const id = await member.id()
    for (const [index, proxy] of this.proxies.entries()) {
      if (this.members[index] === member) proxy.cut()
      // Members name themselves when they connect.
      else proxy.ban(`X-Server-From: ${id}`)
    }
  }

  heal(): void {
    for (const proxy of this.proxies) proxy.heal()
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    await Promise.all(this.proxies.map((proxy) => proxy.close()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

interface Place {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly peerPort: number
  readonly advertisedPeerPort: number
  readonly metricsPort: number
  readonly cluster: string
  readonly options: EtcdOptions
}

export class EtcdMember {
  private readonly place: Place
  private guarded: Guarded | null = null

  constructor(place: Place) {
    this.place = place
  }

  get port(): number {
    return this.place.port
  }

  spawn(): void {
    const { name, folder, port, peerPort, advertisedPeerPort, metricsPort, cluster, options } = this.place
    const client = `${options.scheme ?? 'http'}://127.0.0.1:${port}`
    this.guarded = new Guarded('etcd', [
      ...['--name', name, '--data-dir', folder, '--logger=zap', `--log-outputs=${folder}.log`],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-metrics-urls', `http://127.0.0.1:${metricsPort}`],
      ...['--listen-peer-urls', `http://127.0.0.1:${peerPort}`],
      ...['--initial-advertise-peer-urls', `http://127.0.0.1:${advertisedPeerPort}`],
      ...['--initial-cluster', cluster, '--initial-cluster-token', cluster],
      ...(options.args ?? []),
    ])
  }

  /** Starts it again after `kill`; its data is what it was. */
  async restart(): Promise<void> {
    this.spawn()
    await this.untilReady()
  }

  /** Ends the member at once, as a crash would; its data stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  /** Stands still until `resume`, its connections open: a member that hangs. */
  pause(): void {
    process.kill((this.guarded as Guarded).pid, 'SIGSTOP')
  }

  resume(): void {
    process.kill((this.guarded as Guarded).pid, 'SIGCONT')
  }

  async isLeader(): Promise<boolean> {
    return (await this.metric('etcd_server_is_leader')) === 1
  }

  /** Its id in hexadecimal digits, as members name each other. */
  async id(): Promise<string> {
    const id = /server_id="(\w+)"/.exec(await this.metrics())?.[1]
    if (id === undefined) throw new Error(`etcd tells no id:\n${this.log()}`)
    return id
  }

  /** One figure of the member's own statistics; NaN when it does not answer or has no such figure. */
  async metric(name: string): Promise<number> {
    const line = (await this.metrics()).split('\n').find((text) => text.startsWith(`${name} `))
    return Number(line?.slice(name.length) ?? Number.NaN)
  }

  async untilReady(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while ((await this.metric('etcd_server_has_leader')) !== 1) {
      if (performance.now() > giveUpAtMs) throw new Error(`etcd does not answer:\n${this.log()}`)
      await sleep(20)
    }
  }

  private async metrics(): Promise<string> {
    try {
      const url = `http://127.0.0.1:${this.place.metricsPort}/metrics`
      return await (await fetch(url, { signal: AbortSignal.timeout(1000) })).text()
    } catch {
      return ''
    }
  }

  private log(): string {
    try {
      return readFileSync(`${this.place.folder}.log`, 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

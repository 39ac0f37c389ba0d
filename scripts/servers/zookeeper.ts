import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guarded } from './guarded.ts'
import { freePort } from './ports.ts'
import { startProxy, type TcpProxy } from './proxy.ts'

export interface EnsembleOptions {
  /** How many servers; default 3. */
  readonly size?: number
  readonly tickMs?: number
  /** Whether members reach who leads them through proxies, so that they can be parted; default false. */
  readonly parted?: boolean
}

/** Where Debian's package puts what is needed; the manifest names the rest. */
const JARS = ['zookeeper.jar', 'slf4j-simple.jar'].map((name) => `/usr/share/java/${name}`)
/** A small heap and a quick start: a test server lives for seconds. */
const JAVA = ['-Xms32m', '-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const PROPERTIES = [
  // Empty containers go after a second instead of a minute, so that a test can see it.
  '-Dznode.container.checkIntervalMs=1000',
  // What a process has written survives its end without reaching the disk.
  '-Dzookeeper.forceSync=no',
]
const MAIN = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
const START_MS = 30_000

/** Some servers of one ensemble on the loopback interface, ready to serve. */
export async function startZooKeeper(options: EnsembleOptions = {}): Promise<Ensemble> {
  const ensemble = await Ensemble.make(options)
  await ensemble.start()
  return ensemble
}

export class Ensemble {
  readonly members: readonly Member[]
  private readonly folder: string
  private readonly roads: readonly Road[]

  private constructor(folder: string, members: readonly Member[], roads: readonly Road[]) {
    this.folder = folder
    this.members = members
    this.roads = roads
  }

  static async make({ size = 3, tickMs = 500, parted = false }: EnsembleOptions): Promise<Ensemble> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-zookeeper-'))
    const ports: number[][] = []
    while (ports.length < size) ports.push([await freePort(), await freePort(), await freePort()])
    const roads: Road[] = []
    for (const from of parted ? ports.keys() : [])
      for (const [to, [, quorum = 0]] of ports.entries())
        if (from !== to) roads.push({ from, to, proxy: await startProxy(quorum, { patienceMs: START_MS }) })
    const members = ports.map(([port = 0], index) => {
      // Each has a map of its own. Votes are sent by the straight way, but who has no leader to follow serves nobody.
      const servers = ports.map(([, quorum, election], to) => {
        const road = roads.find((each) => each.from === index && each.to === to)
        return `server.${to + 1}=127.0.0.1:${road?.proxy.port ?? quorum}:${election}`
      })
      const settings = [
        `tickTime=${tickMs}`,
        'initLimit=20',
        'syncLimit=4',
        'admin.enableServer=false',
        '4lw.commands.whitelist=*',
        `minSessionTimeout=${2 * tickMs}`,
        'maxSessionTimeout=300000',
        'maxClientCnxns=0',
        ...servers,
      ]
      return new Member(join(folder, String(index + 1)), index + 1, port, settings)
    })
    return new Ensemble(folder, members, roads)
  }

  /** As it stands in a URL: `host:port,host:port`. */
  get hosts(): string {
    return this.members.map(({ port }) => `127.0.0.1:${port}`).join(',')
  }

  get ports(): readonly number[] {
    return this.members.map(({ port }) => port)
  }

  async start(): Promise<void> {
    for (const member of this.members) member.start()
    await this.ready()
  }

  /** Until every member that runs serves clients. */
  async ready(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    for (const member of this.members) {
      while (member.running && (await member.mode()) === null) {
        if (performance.now() > giveUpAtMs) throw new Error(`ZooKeeper does not answer:\n${member.log()}`)
        await sleep(20)
      }
    }
  }

  async leader(): Promise<Member> {
    return this.inMode('leader')
  }

  async follower(): Promise<Member> {
    return this.inMode('follower')
  }

  /** One member hears nothing of those who lead or follow it, and they nothing of it; clients reach it. Needs `parted`. */
  part(member: Member): void {
    const place = this.members.indexOf(member)
    for (const { from, to, proxy } of this.roads) if (from === place || to === place) proxy.hold()
  }

  heal(): void {
    for (const { proxy } of this.roads) proxy.heal()
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    await Promise.all(this.roads.map(({ proxy }) => proxy.close()))
    rmSync(this.folder, { recursive: true, force: true })
  }

  private async inMode(mode: 'leader' | 'follower'): Promise<Member> {
    const giveUpAtMs = performance.now() + START_MS
    for (;;) {
      for (const member of this.members) if (member.running && (await member.mode()) === mode) return member
      if (performance.now() > giveUpAtMs) throw new Error(`no member of the ensemble is a ${mode}`)
      await sleep(20)
    }
  }
}

/** How one member reaches another. */
interface Road {
  readonly from: number
  readonly to: number
  readonly proxy: TcpProxy
}

export class Member {
  readonly port: number
  private readonly folder: string
  private guarded: Guarded | null = null
  private paused = false

  constructor(folder: string, number: number, port: number, settings: readonly string[]) {
    this.folder = folder
    this.port = port
    mkdirSync(join(folder, 'data'), { recursive: true })
    writeFileSync(join(folder, 'data', 'myid'), String(number))
    const own = [`dataDir=${join(folder, 'data')}`, `clientPort=${port}`, 'clientPortAddress=127.0.0.1']
    writeFileSync(join(folder, 'zoo.cfg'), [...settings, ...own, ''].join('\n'))
  }

  get running(): boolean {
    return this.guarded !== null
  }

  start(): void {
    const start = 'exec "$@" >"$0/log" 2>&1'
    const java = ['java', ...JAVA, ...PROPERTIES, '-cp', JARS.join(':'), MAIN, join(this.folder, 'zoo.cfg')]
    this.guarded = new Guarded('/bin/sh', ['-c', start, this.folder, ...java])
    this.paused = false
  }

  /** Ends the server at once, as a crash would; its data stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  /** Freezes the server: its connections stay, and it says nothing. */
  pause(): void {
    this.signal('SIGSTOP')
    this.paused = true
  }

  resume(): void {
    this.signal('SIGCONT')
    this.paused = false
  }

  /** What the server says of itself; null while it does not serve. */
  async mode(): Promise<string | null> {
    if (this.paused) return null
    return /^Mode: (\w+)$/m.exec(await this.ask('srvr'))?.[1] ?? null
  }

  /** One of the figures that the server counts by itself; NaN when it does not answer or has none of that name. */
  async figure(name: string): Promise<number> {
    const line = (await this.ask('mntr')).split('\n').find((text) => text.startsWith(`${name}\t`))
    return Number(line?.split('\t')[1] ?? Number.NaN)
  }

  /** The answer to one of the commands of four letters; empty when there is none. */
  ask(command: string): Promise<string> {
    return new Promise((resolve) => {
      let answer = ''
      const socket = connect(this.port, '127.0.0.1', () => socket.write(command))
      socket.setTimeout(2000, () => socket.destroy())
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(answer))
    })
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.guarded !== null) process.kill(this.guarded.pid, signal)
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

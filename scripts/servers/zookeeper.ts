import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Certificates } from './certificates.ts'
import { Guarded } from './guarded.ts'
import { freePort } from './ports.ts'
import { startProxy, type TcpProxy } from './proxy.ts'

export interface EnsembleOptions {
  /** How many servers; default 3. */
  readonly size?: number
  readonly tickMs?: number
  /** True if members reach who leads them through proxies, so that they can be parted; default false. */
  readonly parted?: boolean
  /** The servers take TLS at ports of their own, from clients with or without a certificate. */
  readonly tls?: Certificates & { readonly clients: 'need' | 'none' }
  /** The users of SASL with their passwords. */
  readonly users?: Readonly<Record<string, string>>
  /** Further lines of the configuration. */
  readonly settings?: readonly string[]
}

/** Where Debian's package puts what is needed; the manifest names the rest. */
const JARS = [
  'zookeeper.jar',
  'slf4j-simple.jar',
  // TLS needs these, too, and the manifest forgets them.
  'netty-codec.jar',
  'netty-resolver.jar',
  'netty-transport-native-unix-common.jar',
].map((name) => `/usr/share/java/${name}`)
/** A small heap and a quick start: a test server lives for seconds. */
const JAVA = ['-Xms32m', '-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const PROPERTIES = [
  // Empty containers go after a second instead of a minute, so that a test can see it.
  '-Dznode.container.checkIntervalMs=1000',
  // Written data survives the end of its process without reaching the disk.
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

  static async make(options: EnsembleOptions): Promise<Ensemble> {
    const { size = 3, tickMs = 500, parted = false } = options
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-zookeeper-'))
    const ports: number[][] = []
    while (ports.length < size)
      ports.push([await freePort(), await freePort(), await freePort(), await freePort()])
    const secured = securityOf(folder, options)
    const roads: Road[] = []
    for (const from of parted ? ports.keys() : [])
      for (const [to, [, quorum = 0]] of ports.entries())
        if (from !== to) roads.push({ from, to, proxy: await startProxy(quorum, { patienceMs: START_MS }) })
    const members = ports.map(([port = 0, , , securePort = 0], index) => {
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
        ...secured,
        ...(options.tls ? [`secureClientPort=${securePort}`, 'secureClientPortAddress=127.0.0.1'] : []),
        ...servers,
      ]
      return new Member(join(folder, String(index + 1)), index + 1, { port, securePort }, settings)
    })
    return new Ensemble(folder, members, roads)
  }

  /** As it stands in a URL: `host:port,host:port`. */
  get hosts(): string {
    return this.members.map(({ port }) => `127.0.0.1:${port}`).join(',')
  }

  /** The same by TLS. */
  get secureHosts(): string {
    return this.members.map(({ securePort }) => `127.0.0.1:${securePort}`).join(',')
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

/** The configuration for TLS and for logins by SASL. */
function securityOf(folder: string, { tls, users, settings = [] }: EnsembleOptions): string[] {
  const lines = [...settings]
  if (tls !== undefined) {
    const own = join(folder, 'server.pem')
    writeFileSync(own, `${readFileSync(tls.key, 'utf8')}${readFileSync(tls.certificate, 'utf8')}`)
    lines.push(
      'serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
      ...['ssl.keyStore.type=PEM', `ssl.keyStore.location=${own}`],
      ...['ssl.trustStore.type=PEM', `ssl.trustStore.location=${tls.authority}`],
      `ssl.clientAuth=${tls.clients}`,
    )
  }
  if (users !== undefined) {
    const known = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
    const login = `org.apache.zookeeper.server.auth.DigestLoginModule required ${known.join(' ')};`
    writeFileSync(join(folder, 'jaas.conf'), `Server { ${login} };\n`)
    lines.push('authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider')
  }
  return lines
}

/** How one member reaches another. */
interface Road {
  readonly from: number
  readonly to: number
  readonly proxy: TcpProxy
}

export class Member {
  readonly port: number
  readonly securePort: number
  private readonly folder: string
  private guarded: Guarded | null = null
  private paused = false

  constructor(
    folder: string,
    number: number,
    { port, securePort }: Pick<Member, 'port' | 'securePort'>,
    settings: readonly string[],
  ) {
    this.folder = folder
    this.port = port
    this.securePort = securePort
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
    // Without such a file nobody can log in by SASL.
    const login = `-Djava.security.auth.login.config=${join(this.folder, '..', 'jaas.conf')}`
    const properties = existsSync(login.slice(login.indexOf('=') + 1)) ? [...PROPERTIES, login] : PROPERTIES
    const java = ['java', ...JAVA, ...properties, '-cp', JARS.join(':'), MAIN, join(this.folder, 'zoo.cfg')]
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

  /** The server's own report; null while it does not serve. */
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

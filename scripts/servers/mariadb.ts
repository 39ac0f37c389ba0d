import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Guarded, hasEnded, withVariables } from './guarded.ts'
import { freePort } from './ports.ts'
import { give } from './unprivileged.ts'

export interface MariadbServerOptions {
  /** Whether a commit waits for the disk. What a killed server has written survives it without; default false. */
  readonly durable?: boolean
  /** Further settings: `['--max-connections=300']`. */
  readonly settings?: readonly string[]
  /** Variables of the server's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

const USER = 'mysql'
const DATABASE = 'holdfast'
const START_MS = 30_000
/** The first packet of a server that lets clients in: a length, a number, and the version of the protocol. */
const PROTOCOL = 10

/** A server of one's own on the loopback interface, with its data in a temporary folder. */
export async function startMariadb(options: MariadbServerOptions = {}): Promise<MariadbServer> {
  const server = new MariadbServer(await freePort(), options)
  await server.prepare()
  await server.start()
  await server.makeDatabase()
  return server
}

export class MariadbServer {
  readonly port: number
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-mariadb-'))
  private readonly options: MariadbServerOptions
  private guarded: Guarded | null = null

  constructor(port: number, options: MariadbServerOptions) {
    this.port = port
    this.options = options
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/${DATABASE}`
  }

  /** The process id of the server that was started last. */
  get pid(): number {
    return (this.guarded as Guarded).pid
  }

  async prepare(): Promise<void> {
    // Each server clears the temporary tables of the folder that it is given when it starts: those of its own, never a neighbour's.
    mkdirSync(this.temporary)
    give(this.folder, USER)
    give(this.temporary, USER)
    const init = ['--no-defaults', `--user=${USER}`, `--datadir=${this.data}`, `--tmpdir=${this.temporary}`]
    const root = ['--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=8M']
    await promisify(execFile)('mariadb-install-db', [...init, ...root])
  }

  async start(): Promise<void> {
    const { durable = false, settings = [], environment = {} } = this.options
    const args = [
      ...['--no-defaults', `--user=${USER}`, `--datadir=${this.data}`, `--tmpdir=${this.temporary}`],
      `--port=${this.port}`,
      ...['--bind-address=127.0.0.1', `--socket=${this.socket}`, `--log-error=${join(this.folder, 'log')}`],
      ...['--skip-name-resolve', '--max-connections=300', '--innodb-log-file-size=8M'],
      `--innodb-flush-log-at-trx-commit=${durable ? 1 : 2}`,
      ...settings,
    ]
    this.guarded = new Guarded(...withVariables(environment, 'mariadbd', args))
    await this.ready()
  }

  async makeDatabase(): Promise<void> {
    const make = ['--no-defaults', `--socket=${this.socket}`, '-uroot', '-e', `CREATE DATABASE ${DATABASE}`]
    await promisify(execFile)('mariadb', make)
  }

  /** Ends the server at once, as a crash would; its data folder stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  /** Asks the server to end, and waits until it has. */
  async shutDown(): Promise<void> {
    const { pid } = this
    process.kill(pid, 'SIGTERM')
    while (!hasEnded(pid)) await sleep(10)
    await this.kill()
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  private get data(): string {
    return join(this.folder, 'data')
  }

  private get temporary(): string {
    return join(this.folder, 'tmp')
  }

  private get socket(): string {
    return join(this.folder, 'socket')
  }

  private async ready(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while (!(await answers(this.port))) {
      if (performance.now() > giveUpAtMs) throw new Error(`MariaDB does not answer:\n${this.log()}`)
      await sleep(10)
    }
  }

  private log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let up = false
    socket.on('data', (chunk) => {
      up = chunk[4] === PROTOCOL
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(up))
  })
}

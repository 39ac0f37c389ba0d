import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Guarded, hasEnded, withVariables } from './guarded.ts'
import { freePort } from './ports.ts'
import { as, give } from './unprivileged.ts'

export interface PostgresServerOptions {
  /** Whether a commit waits for the disk. What a killed server has written survives it without; default false. */
  readonly durable?: boolean
  /** Further settings: `['max_connections=300']`. */
  readonly settings?: readonly string[]
  /** Variables of the server's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

const PROGRAMS = '/usr/lib/postgresql/15/bin'
const USER = 'postgres'
const START_MS = 20_000
/** What a client says first: the version of the protocol, and who it is. */
const HELLO = greeting('user', USER, 'database', 'postgres')
const LETS_IN = 'R'.charCodeAt(0)

/** A server of one's own on the loopback interface, with its data in a temporary folder. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), options)
  await server.prepare()
  await server.start()
  return server
}

export class PostgresServer {
  readonly port: number
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  private readonly options: PostgresServerOptions
  private guarded: Guarded | null = null

  constructor(port: number, options: PostgresServerOptions) {
    this.port = port
    this.options = options
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  /** The process id of the server that was started last. */
  get pid(): number {
    return (this.guarded as Guarded).pid
  }

  async prepare(): Promise<void> {
    give(this.folder, USER)
    const init = ['-D', this.data, '-U', USER, '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']
    await promisify(execFile)(...as(USER, join(PROGRAMS, 'initdb'), init), { cwd: this.folder })
  }

  async start(): Promise<void> {
    const { durable = false, settings = [], environment = {} } = this.options
    const own = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.folder}`,
      `fsync=${durable ? 'on' : 'off'}`,
      'max_connections=300',
      'logging_collector=off',
    ]
    const set = [...own, ...settings].flatMap((setting) => ['-c', setting])
    const giveUpAtMs = performance.now() + START_MS
    // After a crash the last processes of the old server may still be going; a new one refuses to start until then.
    do {
      const start = 'cd "$0" && exec "$@" >>"$0/log" 2>&1'
      const [program, args] = withVariables(environment, join(PROGRAMS, 'postgres'), [
        '-D',
        this.data,
        ...set,
      ])
      this.guarded = new Guarded(...as(USER, '/bin/sh', ['-c', start, this.folder, program, ...args]))
      if (await this.serves(giveUpAtMs)) return
      await this.kill()
    } while (performance.now() < giveUpAtMs)
    throw new Error(`PostgreSQL does not answer:\n${this.log()}`)
  }

  /** Ends the server at once, as a crash would; its data folder stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  /** Asks the server to end, which cuts its connections, and waits until it has. */
  async shutDown(): Promise<void> {
    const { pid } = this
    process.kill(pid, 'SIGINT')
    while (!hasEnded(pid)) await sleep(10)
    await this.kill()
  }

  async stop(): Promise<void> {
    await this.kill()
    // The processes that serve connections notice a little later, and may write until then.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  private get data(): string {
    return join(this.folder, 'data')
  }

  /** False when the program ended instead. */
  private async serves(giveUpAtMs: number): Promise<boolean> {
    while (performance.now() < giveUpAtMs) {
      if (await answers(this.port)) return true
      await sleep(10)
      if (hasEnded(this.pid)) return false
    }
    return false
  }

  private log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

/** A server that is starting up, or recovers from a crash, answers with an error. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(HELLO))
    let up = false
    socket.on('data', (chunk) => {
      up = chunk[0] === LETS_IN
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(up))
  })
}

function greeting(...words: readonly string[]): Buffer {
  const body = Buffer.from(`${words.join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(3 << 16, 4)
  return Buffer.concat([head, body])
}

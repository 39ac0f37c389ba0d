import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guarded, withVariables } from './guarded.ts'
import { freePort } from './ports.ts'

export interface RedisServerOptions {
  /** True if the append-only file is kept and written through at every command; default false. */
  readonly persistent?: boolean
  /** Further lines of the configuration, each as the arguments of the program: `['--requirepass', 'secret']`. */
  readonly args?: readonly string[]
  /** Lines of a configuration file, for what the server itself writes to: a sentinel keeps in it what it learns. */
  readonly config?: readonly string[]
  readonly program?: string
  /** Variables of the server's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

const START_MS = 10_000

/** A server of one's own on the loopback interface, with its data in a temporary folder. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = new RedisServer(await freePort(), options)
  await server.start()
  return server
}

export class RedisServer {
  readonly port: number
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-'))
  private readonly options: RedisServerOptions
  private guarded: Guarded | null = null

  constructor(port: number, options: RedisServerOptions) {
    this.port = port
    this.options = options
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** The process id of the server that was started last. */
  get pid(): number {
    return Number(readFileSync(join(this.folder, 'pid'), 'utf8'))
  }

  async start(): Promise<void> {
    const { persistent = false, args = [], config, program = 'redis-server', environment = {} } = this.options
    const file = join(this.folder, 'server.conf')
    if (config !== undefined && !existsSync(file)) writeFileSync(file, `${config.join('\n')}\n`)
    const all = [
      ...(config === undefined ? [] : [file]),
      ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder],
      ...['--pidfile', join(this.folder, 'pid'), '--logfile', join(this.folder, 'log'), '--save', '3600 1'],
      ...['--appendonly', persistent ? 'yes' : 'no', '--appendfsync', 'always'],
      ...['--enable-debug-command', 'yes', ...args],
    ]
    this.guarded = new Guarded(...withVariables(environment, program, all))
    await this.untilReady()
  }

  /** Ends the server at once, as a crash would; its data folder stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8')
    } catch {
      return 'it wrote no log'
    }
  }

  private async untilReady(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while (!(await answers(this.port))) {
      if (performance.now() > giveUpAtMs) throw new Error(`redis-server does not answer:\n${this.log()}`)
      await sleep(5)
    }
  }
}

/** Any answer but "loading" means that the server is up, also the one that it wants a password first. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    const end = (up: boolean) => {
      socket.destroy()
      resolve(up)
    }
    socket.on('data', (chunk) => end(!chunk.toString().startsWith('-LOADING')))
    socket.on('error', () => end(false))
    socket.on('close', () => resolve(false))
  })
}

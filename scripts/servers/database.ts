import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Guarded, hasEnded } from './guarded.ts'

export interface DatabaseServerOptions {
  /** True if a commit waits for the disk. What a killed server has written survives it without; default false. */
  readonly durable?: boolean
  /** Further settings, as the server takes them. */
  readonly settings?: readonly string[]
  /** Variables of the server's environment. */
  readonly environment?: Readonly<Record<string, string>>
}

/** A database server of one's own on the loopback interface, with its data in a temporary folder. */
export abstract class DatabaseServer {
  readonly port: number
  readonly folder: string
  protected readonly options: DatabaseServerOptions
  protected guarded: Guarded | null = null
  /** Asks the server to end, and cuts its connections. */
  protected abstract readonly endSignal: NodeJS.Signals

  constructor(name: string, port: number, options: DatabaseServerOptions) {
    this.port = port
    this.folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
    this.options = options
  }

  /** The process id of the server that was started last. */
  get pid(): number {
    return (this.guarded as Guarded).pid
  }

  protected get data(): string {
    return join(this.folder, 'data')
  }

  /** Ends the server at once, as a crash would; its data folder stays. */
  async kill(): Promise<void> {
    await this.guarded?.end()
    this.guarded = null
  }

  /** Asks the server to end, and waits until it has. */
  async shutDown(): Promise<void> {
    const { pid } = this
    process.kill(pid, this.endSignal)
    while (!hasEnded(pid)) await sleep(10)
    await this.kill()
  }

  async stop(): Promise<void> {
    await this.kill()
    // The processes that serve connections notice a little later, and may write until then.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  protected log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

/** True if the first that a server says, to a greeting if it needs one, shows that it lets clients in. */
export function answers(
  port: number,
  greeting: Buffer,
  letsIn: (chunk: Buffer) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(greeting))
    let up = false
    socket.on('data', (chunk) => {
      up = letsIn(chunk)
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(up))
  })
}

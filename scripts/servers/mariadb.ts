import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { answers, DatabaseServer, type DatabaseServerOptions } from './database.ts'
import { Guarded, withVariables } from './guarded.ts'
import { freePort } from './ports.ts'
import { give } from './unprivileged.ts'

const USER = 'mysql'
const DATABASE = 'holdfast'
const START_MS = 30_000
/** The first packet of a server that lets clients in: a length, a number, and the version of the protocol. */
const PROTOCOL = 10

/** Settings are like `--max-connections=300`. */
export async function startMariadb(options: DatabaseServerOptions = {}): Promise<MariadbServer> {
  const server = new MariadbServer(await freePort(), options)
  await server.prepare()
  await server.start()
  await server.makeDatabase()
  return server
}

export class MariadbServer extends DatabaseServer {
  protected readonly endSignal = 'SIGTERM'

  constructor(port: number, options: DatabaseServerOptions) {
    super('mariadb', port, options)
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/${DATABASE}`
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

  private get temporary(): string {
    return join(this.folder, 'tmp')
  }

  private get socket(): string {
    return join(this.folder, 'socket')
  }

  private async ready(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while (!(await answers(this.port, Buffer.alloc(0), (chunk) => chunk[4] === PROTOCOL))) {
      if (performance.now() > giveUpAtMs) throw new Error(`MariaDB does not answer:\n${this.log()}`)
      await sleep(10)
    }
  }
}

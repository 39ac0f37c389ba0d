import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { answers, DatabaseServer, type DatabaseServerOptions } from './database.ts'
import { Guarded, hasEnded, withVariables } from './guarded.ts'
import { freePort } from './ports.ts'
import { as, give } from './unprivileged.ts'

const PROGRAMS = '/usr/lib/postgresql/15/bin'
const USER = 'postgres'
const START_MS = 20_000
/** A client's first message: the version of the protocol, and its identity. */
const HELLO = greeting('user', USER, 'database', 'postgres')
/** A server that is starting up, or recovers from a crash, answers with an error. */
const LETS_IN = 'R'.charCodeAt(0)

/** Settings are like `max_connections=50`; without any, a server takes 100 connections, as those of users do. */
export async function startPostgres(options: DatabaseServerOptions = {}): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), options)
  await server.prepare()
  await server.start()
  return server
}

export class PostgresServer extends DatabaseServer {
  protected readonly endSignal = 'SIGINT'

  constructor(port: number, options: DatabaseServerOptions) {
    super('postgres', port, options)
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async prepare(): Promise<void> {
    give(this.folder, USER)
    const init = ['-D', this.data, '-U', USER, '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']
    await promisify(execFile)(...as(USER, join(PROGRAMS, 'initdb'), init), { cwd: this.folder })
  }

  /** A hot standby that follows this server. */
  async startStandby(): Promise<PostgresServer> {
    const standby = new PostgresServer(await freePort(), this.options)
    give(standby.folder, USER)
    const copy = ['-D', standby.data, '-h', '127.0.0.1', '-p', String(this.port), '-U', USER]
    const how = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync']
    await promisify(execFile)(...as(USER, join(PROGRAMS, 'pg_basebackup'), [...copy, ...how]), {
      cwd: standby.folder,
    })
    await standby.start()
    return standby
  }

  async start(): Promise<void> {
    const { durable = false, settings = [], environment = {} } = this.options
    const own = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.folder}`,
      `fsync=${durable ? 'on' : 'off'}`,
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

  /** False when the program ended instead. */
  private async serves(giveUpAtMs: number): Promise<boolean> {
    while (performance.now() < giveUpAtMs) {
      if (await answers(this.port, HELLO, ([first]) => first === LETS_IN)) return true
      await sleep(10)
      if (hasEnded(this.pid)) return false
    }
    return false
  }
}

function greeting(...words: readonly string[]): Buffer {
  const body = Buffer.from(`${words.join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(3 << 16, 4)
  return Buffer.concat([head, body])
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guarded } from './guarded.ts'
import { freePort } from './ports.ts'
import { as, give } from './unprivileged.ts'

const USER = 'postgres'
const START_MS = 10_000
/** How many connections to the database the clients share. */
export const POOLED = 8

/** A pooler before a PostgreSQL server: every transaction may run on another of its few connections. */
export async function startPgbouncer(targetPort: number): Promise<Pgbouncer> {
  const pooler = new Pgbouncer(await freePort(), targetPort)
  await pooler.start()
  return pooler
}

export class Pgbouncer {
  readonly port: number
  private readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-pgbouncer-'))
  private readonly guarded: Guarded

  constructor(port: number, targetPort: number) {
    this.port = port
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${targetPort} user=${USER}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${POOLED}`,
      'max_client_conn = 1000',
      `logfile = ${join(this.folder, 'log')}`,
      '',
    ]
    give(this.folder, USER)
    const file = join(this.folder, 'pgbouncer.ini')
    writeFileSync(file, settings.join('\n'))
    this.guarded = new Guarded(...as(USER, 'pgbouncer', ['-q', file]))
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while (!(await listens(this.port))) {
      if (performance.now() > giveUpAtMs) throw new Error(`pgbouncer does not answer:\n${this.log()}`)
      await sleep(10)
    }
  }

  async stop(): Promise<void> {
    await this.guarded.end()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4000)
    } catch {
      return 'it wrote no log'
    }
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../../src/index.ts'
import { WireConnection } from '../wire/connection.ts'
import { RedisError } from '../wire/protocol.ts'

const PROGRAM = 'redis-server'
const START_MS = 10_000
/**
 * The shell ends the server when its own input ends, which it does when we close it or when our process ends, however it
 * ends. So no server is left behind.
 */
const GUARD = '"$@" >/dev/null 2>&1 & server=$!; echo $server; cat >/dev/null; kill -9 $server 2>/dev/null'

/** True if a server can be started here. */
export function canStartServers(): boolean {
  return spawnSync(PROGRAM, ['--version']).status === 0
}

/** A Redis server of the lab's own, on the loopback interface, with its data in a temporary folder. */
export class OwnServer {
  readonly port: number
  private readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  private readonly settings: readonly string[]
  private shell: ChildProcess | null = null

  private constructor(port: number, settings: readonly string[]) {
    this.port = port
    this.settings = settings
  }

  /** `settings` are further arguments of the program, such as `--appendonly yes`. */
  static async start(...settings: readonly string[]): Promise<OwnServer> {
    const server = new OwnServer(await freePort(), settings)
    try {
      await server.begin()
    } catch (error) {
      await server.stop()
      throw error
    }
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, for the first time or again on the data it left. */
  async begin(): Promise<void> {
    const fixed = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder]
    const quiet = ['--logfile', join(this.folder, 'log'), '--save', '']
    this.shell = spawn('/bin/sh', ['-c', GUARD, 'guard', PROGRAM, ...fixed, ...quiet, ...this.settings], {
      stdio: ['pipe', 'pipe', 'ignore'],
      // In a group of its own, so that a signal to ours does not end the guard before its work is done.
      detached: true,
    })
    const [pid] = (await once(this.shell.stdout!, 'data')) as [Buffer]
    this.pid = Number(pid.toString())
    await this.untilReady()
  }

  /** `kill -9`, as a crash would end it. */
  async crash(): Promise<void> {
    const { shell } = this
    this.shell = null
    if (shell === null) return
    process.kill(this.pid, 'SIGKILL')
    const exited = once(shell, 'exit')
    shell.stdin?.end()
    await exited
  }

  async stop(): Promise<void> {
    if (this.shell !== null && this.shell.exitCode === null) {
      const exited = once(this.shell, 'exit')
      this.shell.stdin?.end()
      await exited
    }
    this.shell = null
    rmSync(this.folder, { recursive: true, force: true })
  }

  private pid = 0

  private async untilReady(): Promise<void> {
    const giveUpAtMs = performance.now() + START_MS
    while (!(await answers(this.url))) {
      if (performance.now() > giveUpAtMs) throw new StoreError(`${PROGRAM} does not answer: ${this.log()}`)
      await sleep(5)
    }
  }

  private log(): string {
    try {
      return readFileSync(join(this.folder, 'log'), 'utf8').split('\n').slice(-4).join('; ')
    } catch {
      return 'it wrote no log'
    }
  }
}

/** True if a server is there and is not still loading its data. */
export async function answers(url: string): Promise<boolean> {
  try {
    const connection = await WireConnection.open(url)
    try {
      return !((await connection.ask('PING')) instanceof RedisError)
    } finally {
      connection.close()
    }
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../scripts/servers/ports.ts'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import type { Size } from '../result.ts'
import { Worker } from '../worker.ts'
import { BASE, CATALOGUE, entryOf, OURS } from './catalogue.ts'
import { Counters } from './counters.ts'
import type { Orders } from './orders.ts'
import type { Addresses, Part } from './subject.ts'

export interface SessionOptions {
  /** The program of the workers, and that of the broker when the other libraries are measured, too. */
  readonly program: string
  readonly broker: string | null
  readonly size: Size
  readonly execArgv: readonly string[]
}

/** The companions of contenders that take part in one workload alone. */
const REFERENCES = [BASE, OURS]

/** One server, and a process for every subject: they take turns, so that none runs beside another. */
export class Session {
  readonly size: Size
  readonly counters: Counters
  readonly addresses: Addresses
  private readonly server: RedisServer
  private readonly broker: ChildProcess | null
  private readonly options: SessionOptions
  private readonly workers = new Map<string, Worker<Orders>>()

  private constructor(
    server: RedisServer,
    broker: ChildProcess | null,
    port: number,
    options: SessionOptions,
  ) {
    this.server = server
    this.broker = broker
    this.options = options
    this.size = options.size
    this.addresses = { redis: server.url, brokerPort: port }
    this.counters = new Counters(server.url)
  }

  static async start(options: SessionOptions): Promise<Session> {
    const port = await freePort()
    const broker =
      options.broker === null
        ? null
        : fork(options.broker, [String(port)], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    if (broker !== null) await once(broker, 'message')
    return new Session(await startRedis(), broker, port, options)
  }

  get port(): number {
    return this.server.port
  }

  /** The contenders, in the order of the tables. */
  subjects(part: Part): string[] {
    return Object.entries(CATALOGUE)
      .filter(([, { role }]) => role !== 'peer' || this.broker !== null)
      .filter(([name, { only }]) => only === part || (part === 'stock' ? REFERENCES.includes(name) : !only))
      .map(([name]) => name)
  }

  /** A process of that name, with the subject opened in it. */
  async worker(name: string, subject: string): Promise<Worker<Orders>> {
    const worker =
      this.workers.get(name) ??
      new Worker<Orders>(this.options.program, this.addresses, this.options.execArgv)
    this.workers.set(name, worker)
    await worker.tell('open', { subject })
    return worker
  }

  /** How many commands the clients of a subject sent; those inside a script are not theirs. NaN where there is no Redis. */
  commands(subject: string, calls: Readonly<Record<string, number>>): number {
    const { sends } = entryOf(subject)
    return sends.length === 0 ? Number.NaN : sends.reduce((sum, command) => sum + (calls[command] ?? 0), 0)
  }

  async end(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.end()))
    if (this.broker?.connected) this.broker.disconnect()
    await this.counters.close()
    await this.server.stop()
  }
}

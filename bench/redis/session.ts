import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import type { Size } from '../result.ts'
import { entryOf } from './catalogue.ts'
import { Counters } from './counters.ts'
import { Worker } from './worker.ts'

/** One server, and a process for every subject that was asked for: they take turns, so none runs beside another. */
export class Session {
  readonly counters: Counters
  readonly size: Size
  /** What is measured, in the order of the tables. */
  readonly subjects: readonly string[]
  private readonly server: RedisServer
  private readonly program: string
  private readonly execArgv: readonly string[]
  private readonly workers = new Map<string, Worker>()

  private constructor(server: RedisServer, options: SessionOptions) {
    this.server = server
    this.counters = new Counters(server.url)
    this.size = options.size
    this.subjects = options.subjects
    this.program = options.program
    this.execArgv = options.execArgv
  }

  static async start(options: SessionOptions): Promise<Session> {
    return new Session(await startRedis(), options)
  }

  get port(): number {
    return this.server.port
  }

  /** The process of that name, which is the subject's own unless many are needed. */
  worker(name: string): Worker {
    const known = this.workers.get(name)
    if (known !== undefined) return known
    const worker = new Worker(this.program, this.server.url, this.execArgv)
    this.workers.set(name, worker)
    return worker
  }

  /** Commands that the clients of a subject sent, for each acquisition. */
  commands(subject: string, calls: Readonly<Record<string, number>>): number {
    return entryOf(subject).sends.reduce((sum, command) => sum + (calls[command] ?? 0), 0)
  }

  async end(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.end()))
    await this.counters.close()
    await this.server.stop()
  }
}

export interface SessionOptions {
  readonly program: string
  readonly size: Size
  readonly subjects: readonly string[]
  readonly execArgv: readonly string[]
}

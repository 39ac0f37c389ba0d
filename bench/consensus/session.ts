import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startZooKeeper } from '../../scripts/servers/zookeeper.ts'
import type { Size } from '../result.ts'
import { Worker } from '../worker.ts'
import { CATALOGUES } from './catalogues.ts'
import type { Orders, StoreName } from './orders.ts'
import type { Role } from './subject.ts'

interface Ensemble {
  /** A follower first, which whoever works alone is connected to: its writes go over the leader, as most do. */
  readonly endpoints: readonly string[]
  stop(): Promise<void>
}

const START: Readonly<Record<StoreName, () => Promise<Ensemble>>> = {
  async etcd() {
    const cluster = await startEtcd()
    const leader = await cluster.leader()
    const members = [...cluster.members.filter((member) => member !== leader), leader]
    return { endpoints: members.map(addressOf), stop: () => cluster.stop() }
  },
  async zookeeper() {
    const ensemble = await startZooKeeper()
    const leader = await ensemble.leader()
    const members = [...ensemble.members.filter((member) => member !== leader), leader]
    return { endpoints: members.map(addressOf), stop: () => ensemble.stop() }
  },
}

function addressOf({ port }: { port: number }): string {
  return `127.0.0.1:${port}`
}

export interface SessionOptions {
  readonly store: StoreName
  readonly program: string
  readonly size: Size
  readonly execArgv: readonly string[]
}

/** An ensemble of three, and a process for every subject: they take turns, so that none runs beside another. */
export class Session {
  readonly options: SessionOptions
  private readonly ensemble: Ensemble
  private readonly workers = new Map<string, Worker<Orders>>()

  private constructor(options: SessionOptions, ensemble: Ensemble) {
    this.options = options
    this.ensemble = ensemble
  }

  static async start(options: SessionOptions): Promise<Session> {
    return new Session(options, await START[options.store]())
  }

  get tiny(): boolean {
    return this.options.size === 'tiny'
  }

  /** The contenders, in the order of the tables. A tiny run has ours alone. */
  subjects(...roles: Role[]): string[] {
    return Object.entries(CATALOGUES[this.options.store])
      .filter(([, { role }]) => roles.includes(role) && (role !== 'peer' || !this.tiny))
      .map(([name]) => name)
  }

  /** A process of that name with the subject opened in it, at the member whose turn it is by `place`. */
  async worker(name: string, subject: string, place = 0): Promise<Worker<Orders>> {
    const { store, program, execArgv } = this.options
    const endpoint = this.ensemble.endpoints[place % this.ensemble.endpoints.length] as string
    const worker = this.workers.get(name) ?? new Worker<Orders>(program, { store, endpoint }, execArgv)
    this.workers.set(name, worker)
    await worker.tell('open', { subject })
    return worker
  }

  async end(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.end()))
    await this.ensemble.stop()
  }
}

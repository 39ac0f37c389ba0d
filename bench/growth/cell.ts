import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { quantile } from '../statistics.ts'
import { STORES as SERVERS, type Servers } from '../stores/servers.ts'
import { type Extent, type Figures, type Order, OURS, type Part, type StoreName } from './part.ts'

const DEADLINE_MS = { full: 60_000, quick: 20_000, tiny: 15_000 }
/** On a machine that does much else a process takes seconds to start; its deadline counts from then. */
const START_MS = 60_000
const SLOW_START = 3
/** A process that does not even notice its deadline is ended that much later. */
const GRACE_MS = 5000
const A_DAY_MS = 86_400_000
/** Calls that are shorter are not written down. */
const SLOW_MICROSECONDS = 100
const MOST_SLOW = 100_000

/** One store with its servers, an innocent neighbour, and measurements one after the other. */
export class Cells {
  readonly store: StoreName
  private readonly program: string
  private readonly extent: Extent
  private readonly servers: Servers
  private readonly url: string
  private readonly neighbour: ChildProcess | null
  private readonly redis: Redis | null
  private count = 0

  private constructor(store: StoreName, program: string, extent: Extent, servers: Servers) {
    this.store = store
    this.program = program
    this.extent = extent
    this.servers = servers
    this.url = servers.url(servers.ports)
    const order = this.order('innocent', OURS, 1, A_DAY_MS)
    this.neighbour = servers.shared ? this.started({ ...order, innocent: true }) : null
    this.redis = store === 'redis' ? new Redis(this.url) : null
  }

  static async start(store: StoreName, program: string, extent: Extent): Promise<Cells> {
    const servers = await SERVERS[store]!()
    const cells = new Cells(store, program, extent, servers)
    await cells.redis?.config('SET', 'slowlog-log-slower-than', SLOW_MICROSECONDS)
    await cells.redis?.config('SET', 'slowlog-max-len', MOST_SLOW)
    await cells.favourServer()
    return cells
  }

  async measure(part: Part, subject: string, n: number): Promise<Figures> {
    await this.redis?.slowlog('RESET')
    await this.innocentMs()
    const deadlineMs = DEADLINE_MS[this.extent] * (part.startsSlowly ? SLOW_START : 1)
    const order = this.order(part.name, subject, n, deadlineMs)
    const child = this.started(order)
    let found: Figures = {}
    child.on('message', (figures: Figures) => {
      // An unknown figure comes as null.
      found = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, value ?? Number.NaN]))
    })
    const over = once(child, 'exit')
    await Promise.race([once(child, 'message'), over, sleep(START_MS, null, { ref: false })])
    const inTime = await Promise.race([
      over.then(() => true),
      sleep(deadlineMs + GRACE_MS, false, { ref: false }),
    ])
    const tookMs = await this.innocentMs()
    if (!inTime) child.kill('SIGKILL')
    await over
    return {
      N: n,
      ...found,
      ...(this.neighbour !== null && {
        'innocent p50 ms': quantile(tookMs, 0.5),
        'innocent p99 ms': quantile(tookMs, 0.99),
      }),
      ...(this.redis !== null && { 'slowest call ms': await this.slowestMs() }),
    }
  }

  async stop(): Promise<void> {
    this.neighbour?.kill('SIGKILL')
    this.redis?.disconnect()
    await this.servers.stop()
  }

  private order(part: string, subject: string, n: number, deadlineMs: number): Order {
    const { store, url, extent } = this
    const prefix = `growth:${part}:${this.count++}:`
    return { part, store, url, subject, n, prefix, extent, deadlineMs }
  }

  private started(order: object): ChildProcess {
    return fork(this.program, [JSON.stringify(order)], {
      execArgv: [],
      // Warnings of clients would break the lines of progress.
      stdio: [
        'ignore',
        'ignore',
        process.env.HOLDFAST_BENCH_ERRORS === undefined ? 'ignore' : 'inherit',
        'ipc',
      ],
    })
  }

  /** The figures of the innocent key since the last question. */
  private async innocentMs(): Promise<readonly number[]> {
    if (this.neighbour === null || !this.neighbour.connected) return []
    const heard = once(this.neighbour, 'message') as Promise<[number[]]>
    this.neighbour.send('tell')
    const [tookMs] = (await Promise.race([heard, sleep(GRACE_MS, [[]], { ref: false })])) as [number[]]
    return tookMs
  }

  /** The longest call of a script, which no other call can interrupt. */
  private async slowestMs(): Promise<number> {
    type Entry = readonly [id: number, at: number, microseconds: number, args: readonly string[]]
    const entries = (await (this.redis as Redis).slowlog('GET', MOST_SLOW)) as Entry[]
    const scripts = entries.filter(([, , , [name = '']]) => /^(?:evalsha|eval|fcall)$/i.test(name))
    const microseconds = scripts.reduce((most, [, , took]) => Math.max(most, took), SLOW_MICROSECONDS)
    return microseconds / 1000
  }

  /** So that the slowest call says how long the server worked, and not how long it waited for one of two cores. */
  private async favourServer(): Promise<void> {
    const info = await this.redis?.info('server')
    const pid = Number(/process_id:(\d+)/.exec(info ?? '')?.[1] ?? Number.NaN)
    try {
      if (!Number.isNaN(pid)) setPriority(pid, -20)
    } catch {
      // Not allowed to: the figure is then an upper bound.
    }
  }
}

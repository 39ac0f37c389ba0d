import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { HistoryWriter } from './history.ts'
import type { WorkerOrder } from './order.ts'

export interface CrewOrder extends Omit<WorkerOrder, 'name' | 'url' | 'addresses'> {
  /** The program of a worker. */
  readonly program: string
  /** How the worker at that place reaches the store. */
  readonly wayOf: (place: number) => Pick<WorkerOrder, 'url' | 'addresses'>
  readonly size: number
  readonly environment?: Readonly<Record<string, string>>
}

interface Worker {
  readonly name: string
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  complaint: string
}

const END_MS = 15_000

/** The processes that want keys. Each has a place; whoever dies is followed by another at the same place. */
export class Crew {
  private readonly order: CrewOrder
  private readonly history: HistoryWriter
  private readonly workers: Worker[] = []
  private hired = 0

  constructor(order: CrewOrder, history: HistoryWriter) {
    this.order = order
    this.history = history
    for (let place = 0; place < order.size; place++) this.hire(place)
  }

  get size(): number {
    return this.order.size
  }

  nameOf(place: number): string {
    return `w${place + 1}`
  }

  /** Ends a worker without warning; another takes its place. */
  kill(place: number): void {
    const { name, child } = this.workers[place] as Worker
    this.history.write({ f: 'crashed', worker: name })
    child.removeAllListeners('exit')
    child.kill('SIGKILL')
    this.hire(place)
  }

  pause(place: number): void {
    ;(this.workers[place] as Worker).child.kill('SIGSTOP')
  }

  resume(place: number): void {
    ;(this.workers[place] as Worker).child.kill('SIGCONT')
  }

  /** The worker's event loop stands still for that long. */
  block(place: number, ms: number): void {
    ;(this.workers[place] as Worker).child.stdin?.write(`block ${ms}\n`)
  }

  /** Everybody comes to an end in good order; who does not is told of, and ended. */
  async end(): Promise<void> {
    await Promise.all(
      this.workers.map(async (worker) => {
        worker.child.stdin?.end()
        const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), END_MS).unref())
        const inTime = await Promise.race([worker.ended.then(() => true), late])
        if (!inTime) this.complain(`${worker.name} does not end`)
        else if (worker.child.exitCode === 0 && worker.complaint !== '')
          this.complain(`${worker.name} said: ${worker.complaint.slice(0, 2000)}`)
      }),
    )
    this.abandon()
  }

  abandon(): void {
    for (const { child } of this.workers) child.kill('SIGKILL')
  }

  private hire(place: number): void {
    const { program, wayOf, size: _, environment, ...rest } = this.order
    const name = `${this.nameOf(place)}.${++this.hired}`
    const order: WorkerOrder = { ...rest, name, ...wayOf(place) }
    const child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, ...environment, NODE_NO_WARNINGS: '1' },
    })
    // A killed worker hears no more orders.
    child.stdin.on('error', () => {})
    const worker: Worker = { name, child, ended: once(child, 'close'), complaint: '' }
    child.stderr.on('data', (chunk) => {
      worker.complaint += chunk
    })
    child.once('exit', (code) => {
      if (code !== 0) this.complain(`${name} ended with ${code}: ${worker.complaint.slice(0, 2000)}`)
    })
    this.workers[place] = worker
  }

  private complain(text: string): void {
    this.history.write({ f: 'complaint', text })
  }
}

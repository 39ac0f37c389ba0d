import { type ChildProcess, fork } from 'node:child_process'
import { ChildError } from '../exit.ts'
import { type FromWorker, SALE, type ToWorker, type WorkerStart } from './messages.ts'

export type Inside = Extract<FromWorker, { kind: 'inside' }>

/** The processes of one sale. */
export class Workers {
  private readonly workers: ChildProcess[] = []
  private readonly ready: Promise<unknown>
  private readonly listener: (message: FromWorker) => void
  private readonly killed = new Set<ChildProcess>()
  /** Settles when every process has ended; rejects when one has ended without being killed. */
  readonly ended: Promise<unknown>
  private readonly gone: Promise<unknown>

  constructor(order: Pick<WorkerStart, 'folder' | 'guarded'>, listener: (message: FromWorker) => void) {
    this.listener = listener
    const started: Promise<void>[] = []
    const ended: Promise<void>[] = []
    for (let worker = 1; worker <= SALE.workers; worker++) {
      const share: WorkerStart = { ...order, worker, buyers: SALE.buyers / SALE.workers }
      // The same command again: it is one file, however it was installed.
      const child = fork(process.argv[1]!, ['demo-worker', JSON.stringify(share)], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      this.workers.push(child)
      started.push(new Promise((resolve) => child.once('message', () => resolve())))
      ended.push(this.endOf(child, worker))
    }
    this.ready = Promise.all(started)
    this.ended = Promise.all(ended)
    this.gone = Promise.allSettled(ended)
    // A worker may fail before anything awaits this promise.
    this.ended.catch(() => {})
  }

  /** Opens the sale once all workers are ready. */
  async open(): Promise<void> {
    await Promise.race([this.ready, this.ended])
    for (const worker of this.workers) send(worker, { kind: 'open' })
  }

  /** Stops a worker in the middle of its next sale; settles when it has stopped. */
  trap(worker: number): Promise<Inside> {
    const child = this.child(worker)
    return new Promise((resolve) => {
      const look = (message: FromWorker): void => {
        if (message.kind !== 'inside') return
        child.off('message', look)
        resolve(message)
      }
      child.on('message', look)
      send(child, { kind: 'trap' })
    })
  }

  free(worker: number): void {
    send(this.child(worker), { kind: 'go' })
  }

  signal(worker: number, signal: NodeJS.Signals): void {
    const child = this.child(worker)
    if (signal === 'SIGKILL') this.killed.add(child)
    child.kill(signal)
  }

  /** Ends the remaining workers, stopped or not; settles when none is left. */
  async dismiss(): Promise<void> {
    for (const worker of this.workers) {
      this.killed.add(worker)
      worker.kill('SIGKILL')
    }
    await this.gone
  }

  private child(worker: number): ChildProcess {
    return this.workers[worker - 1]!
  }

  private endOf(child: ChildProcess, worker: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let problem: string | null = null
      child.on('message', (message: FromWorker) => {
        if (message.kind === 'failed') problem = message.message
        this.listener(message)
      })
      child.once('error', reject)
      // `close` comes after the last message, `exit` may come before it.
      child.once('close', (code) => {
        if (code === 0 || this.killed.has(child)) resolve()
        else reject(new ChildError(`worker ${worker} failed: ${problem ?? `exit code ${code}`}`, code))
      })
    })
  }
}

function send(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message)
}

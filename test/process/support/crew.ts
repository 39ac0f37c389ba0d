import { type ChildProcess, spawn } from 'node:child_process'
import type { CounterOrder } from './messages.ts'

/** The processes that count together. */
export class Crew {
  /** The error of a worker that was not killed. */
  readonly failures: string[] = []
  private readonly program: string
  private readonly order: Omit<CounterOrder, 'name'>
  private readonly running = new Map<string, ChildProcess>()
  private readonly ends: Promise<void>[] = []
  private hired = 0

  constructor(program: string, order: Omit<CounterOrder, 'name'>) {
    this.program = program
    this.order = order
  }

  get names(): readonly string[] {
    return [...this.running.keys()]
  }

  hire(): void {
    const name = `worker-${++this.hired}`
    const order: CounterOrder = { ...this.order, name }
    const child = spawn(process.execPath, [this.program, JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let complaint = ''
    child.stderr.on('data', (chunk) => {
      complaint += chunk
    })
    this.running.set(name, child)
    this.ends.push(
      new Promise((resolve) => {
        child.once('close', (code, signal) => {
          const wasKilled = !this.running.delete(name)
          if (!wasKilled && (code !== 0 || complaint !== ''))
            this.failures.push(`${name} ended with ${code ?? signal}: ${complaint}`)
          resolve()
        })
      }),
    )
  }

  kill(name: string): void {
    const child = this.running.get(name)
    this.running.delete(name)
    child?.kill('SIGKILL')
  }

  /** Settles when every worker has ended. */
  async ended(): Promise<void> {
    for (let end = this.ends.shift(); end !== undefined; end = this.ends.shift()) await end
  }

  dismiss(): Promise<void> {
    for (const name of this.names) this.kill(name)
    return this.ended()
  }
}

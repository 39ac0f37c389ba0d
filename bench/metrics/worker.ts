import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Order } from './order.ts'

/** A process of its own for one subject: its garbage is its own, and so is its compiled code. */
export class Worker {
  private readonly child: ChildProcess

  constructor(program: string, order: Order, execArgv: readonly string[]) {
    this.child = fork(program, [JSON.stringify(order)], { execArgv: [...execArgv] })
  }

  /** CPU microseconds per lock in one round. */
  async round(): Promise<number> {
    const ended = new AbortController()
    const gone = once(this.child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`a process of the benchmark ended with ${code}`)
    })
    this.child.send('round')
    try {
      const [microseconds] = await Promise.race([once(this.child, 'message'), gone])
      return microseconds as number
    } finally {
      ended.abort()
      gone.catch(() => {})
    }
  }

  async end(): Promise<void> {
    const gone = once(this.child, 'exit')
    this.child.send('end')
    const [code] = await gone
    if (code !== 0) throw new Error(`a process of the benchmark ended with ${code}`)
  }
}

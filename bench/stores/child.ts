import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Order } from './orders.ts'

/** A process of the comparison. */
export class Child {
  private readonly child: ChildProcess
  private readonly ended: Promise<unknown>

  constructor(program: string, order: Order) {
    this.child = fork(program, [JSON.stringify(order)], { execArgv: [] })
    this.ended = once(this.child, 'exit')
  }

  async hear<T>(): Promise<T> {
    const end = this.ended.then(() => {
      throw new Error('a process of the benchmark ended too soon')
    })
    const [message] = (await Promise.race([once(this.child, 'message'), end])) as [T]
    return message
  }

  say(message: object): void {
    this.child.send(message)
  }

  /** At once, as a crash would. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

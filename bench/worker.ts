import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

const END_MS = 2_000

/** Orders to a process, and its answers. */
type Exchange<Orders> = {
  readonly [K in keyof Orders]: { readonly order: unknown; readonly answer: unknown }
}

/** The process that a subject lives in. */
export class Worker<Orders extends Exchange<Orders>> {
  private readonly child: ChildProcess

  constructor(program: string, startedWith: object, execArgv: readonly string[]) {
    this.child = fork(program, [JSON.stringify(startedWith)], {
      execArgv: [...execArgv],
      serialization: 'advanced',
    })
  }

  tell<K extends keyof Orders>(kind: K, order: Orders[K]['order']): Promise<Orders[K]['answer']> {
    const message = { kind, order }
    const { child } = this
    return new Promise((resolve, reject) => {
      const settle = (answer: unknown): void => {
        child.off('message', settle)
        child.off('exit', fail)
        resolve(answer as Orders[K]['answer'])
      }
      const fail = (code: number | null): void =>
        reject(new Error(`A worker ended with ${code} while it was told ${JSON.stringify(message)}`))
      child.on('message', settle)
      child.on('exit', fail)
      child.send(message)
    })
  }

  /** Lets it close what it opened; what does not end by itself is ended. */
  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, 'exit')
    this.child.disconnect()
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_MS)
    await exited
    clearTimeout(timer)
  }
}

import { type ChildProcess, fork } from 'node:child_process'
import { ChildError } from '../../../src/cli/exit.ts'
import type { ActorOrder, FromActor, ToActor } from './messages.ts'

/** One process of a story, seen from outside. */
export class Actor {
  readonly name: string
  /** Settles when the process has ended; rejects when it failed. */
  readonly ended: Promise<void>
  private readonly child: ChildProcess
  private readonly seen = new Set<FromActor['kind']>()
  private readonly watchers = new Set<() => void>()
  private killed = false

  constructor(order: ActorOrder, listener: (actor: Actor, message: FromActor) => void) {
    this.name = order.name
    // The command itself, again: it is one file, wherever and however it was installed.
    this.child = fork(process.argv[1]!, ['lab-worker', JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.ended = this.follow(listener)
    // Nobody may be looking yet when it fails.
    this.ended.catch(() => {})
  }

  send(message: ToActor): void {
    if (this.child.connected) this.child.send(message)
  }

  /** Settles when the process has said so, has said so before, or cannot any more. Rejects when it failed. */
  async said(...kinds: readonly FromActor['kind'][]): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!kinds.some((kind) => this.seen.has(kind))) return
        this.watchers.delete(look)
        resolve()
      }
      this.watchers.add(look)
      look()
    })
    await Promise.race([heard, this.ended])
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (signal === 'SIGKILL') this.killed = true
    this.child.kill(signal)
  }

  /** Ends it if it still runs, stopped or not. */
  async dismiss(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended.catch(() => {})
  }

  private follow(listener: (actor: Actor, message: FromActor) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let problem: string | null = null
      this.child.on('message', (message: FromActor) => {
        if (message.kind === 'failed') problem = message.message
        listener(this, message)
        this.seen.add(message.kind)
        for (const watcher of [...this.watchers]) watcher()
      })
      this.child.once('error', reject)
      // `close` comes after the last message, `exit` may come before it.
      this.child.once('close', (code) => {
        if (code === 0 || this.killed) resolve()
        else reject(new ChildError(`process ${this.name} failed: ${problem ?? `exit code ${code}`}`, code))
      })
    })
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../exit.ts'
import { codeOfSignal } from './signals.ts'

/** Windows has no process groups: there a signal ends the command itself and nothing below it. */
const GROUPS = process.platform !== 'win32'
const LOOK_EVERY_MS = 10

/** How the command ended: its exit code, or why it could not be started. */
export type Ending =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'unstartable'; readonly code: number; readonly why: string }

/** A command and every process that it has started in its group. */
export class Group {
  private child: ChildProcess | null = null
  private ended: Promise<Ending> | null = null
  private stopped = false

  /** Starts the command without a shell, on our own stdin, stdout and stderr; settles when it has ended. */
  start([file, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<Ending> {
    const child = spawn(file, args, { env, stdio: 'inherit', detached: GROUPS, shell: false })
    this.child = child
    this.ended = new Promise((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        // An error after the start is about a signal that could not be sent, and the exit is still to come.
        if (child.pid === undefined) resolve(unstartable(error))
      })
      child.once('exit', (code, signal) => {
        resolve({ kind: 'exited', code: signal === null ? (code ?? EXIT.internal) : codeOfSignal(signal) })
      })
    })
    return this.ended
  }

  /** Nobody of the group does anything until it goes on. */
  stop(): void {
    this.stopped = true
    this.send('SIGSTOP')
  }

  goOn(): void {
    this.stopped = false
    this.send('SIGCONT')
  }

  /** Tells every process of the group; false when there is none. */
  send(signal: NodeJS.Signals | 0): boolean {
    if (this.child?.pid === undefined) return false
    if (!GROUPS) return this.child.kill(signal)
    try {
      return process.kill(-this.child.pid, signal)
    } catch {
      return false
    }
  }

  /**
   * SIGTERM, and SIGKILL for whoever is left after `graceMs`: the whole group, not only its first process. A stopped one hears
   * SIGTERM only when it goes on, and would do so without the lock: it is killed at once.
   */
  async end(graceMs: number): Promise<void> {
    const killAtMs = performance.now() + graceMs
    if (!this.stopped) {
      this.send('SIGTERM')
      // Somebody else may have stopped it.
      this.send('SIGCONT')
      while (performance.now() < killAtMs && this.send(0)) await sleep(LOOK_EVERY_MS)
    }
    this.send('SIGKILL')
    await this.ended
  }
}

function unstartable({ code, message }: NodeJS.ErrnoException): Ending {
  if (code === 'ENOENT') return { kind: 'unstartable', code: EXIT.notFound, why: 'there is no such program' }
  const why = code === 'EACCES' ? 'it is not executable' : message
  return { kind: 'unstartable', code: EXIT.cannotExecute, why }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../exit.ts'
import { lookAt } from './members.ts'
import { codeOfSignal } from './signals.ts'

/** Windows has no process groups: there a signal ends the command itself and nothing below it. */
const GROUPS = process.platform !== 'win32'
const SHORTEST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250

/** The end of the command: its exit code, or why it could not be started. */
export type Ending =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'unstartable'; readonly code: number; readonly why: string }

/** A command and every process that it has started in its group. */
export class ProcessGroup {
  private child: ChildProcess | null = null
  private gone: Promise<void> | null = null
  private stopped = false
  private seen: readonly number[] = []

  /** Starts the command without a shell, on our own stdin, stdout and stderr; settles when its first process has ended. */
  start([file, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<Ending> {
    const child = spawn(file, args, { env, stdio: 'inherit', detached: GROUPS, shell: false })
    this.child = child
    const ended = new Promise<Ending>((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        // An error after the start is about a signal that could not be sent; the exit is still to come.
        if (child.pid === undefined) resolve(unstartable(error))
      })
      child.once('exit', (code, signal) => {
        resolve({ kind: 'exited', code: signal === null ? (code ?? EXIT.internal) : codeOfSignal(signal) })
      })
    })
    this.gone = ended.then(() => this.outlast())
    return ended
  }

  /** Settles when the whole group has ended: children of the first process may outlive it. */
  async empty(): Promise<void> {
    await this.gone
  }

  /** The pids known to run at the last look after the end of the first process. */
  get left(): readonly number[] {
    return this.seen
  }

  /** Stops every process of the group until it is continued. */
  stop(): void {
    this.stopped = true
    this.send('SIGSTOP')
  }

  goOn(): void {
    this.stopped = false
    this.send('SIGCONT')
  }

  /** Signals every process of the group. */
  send(signal: NodeJS.Signals): void {
    if (this.child?.pid === undefined) return
    if (!GROUPS) {
      this.child.kill(signal)
      return
    }
    try {
      process.kill(-this.child.pid, signal)
    } catch {
      // It is empty, or belongs to another user.
    }
  }

  /**
   * SIGTERM, and SIGKILL for the rest after `graceMs`: the whole group, not only its first process. A stopped group handles
   * SIGTERM only when it continues, and would then run without the lock: it is killed at once.
   */
  async end(graceMs: number): Promise<void> {
    if (!this.stopped) {
      this.send('SIGTERM')
      // Another process may have stopped it.
      this.send('SIGCONT')
      const patience = new AbortController()
      const over = sleep(graceMs, undefined, { signal: patience.signal }).catch(() => {})
      await Promise.race([this.gone, over])
      patience.abort()
    }
    this.send('SIGKILL')
    await this.gone
  }

  private async outlast(): Promise<void> {
    const group = this.child?.pid
    for (
      let pauseMs = SHORTEST_PAUSE_MS;
      group !== undefined && (await this.anybody(group));
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    )
      await sleep(pauseMs)
    // From now on another process may have this pid.
    this.child = null
  }

  /** True if a process of the group runs. The kernel counts zombies, too, which may never be collected. */
  private async anybody(group: number): Promise<boolean> {
    if (!GROUPS || !exists(group)) return false
    // Listing all processes is slow on a big machine: one known running process is enough.
    const known = this.seen.length === 0 ? null : await lookAt(group, this.seen)
    if (known !== null && known.length > 0) return true
    // A process that forks and exits during the listing hides its child, so an empty group must be seen twice.
    for (let time = 0; time < 2; time++) {
      const members = await lookAt(group)
      this.seen = members ?? []
      if (members === null || members.length > 0) return true
    }
    return false
  }
}

function exists(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch (error) {
    // EPERM: they exist and belong to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function unstartable({ code, message }: NodeJS.ErrnoException): Ending {
  if (code === 'ENOENT') return { kind: 'unstartable', code: EXIT.notFound, why: 'there is no such program' }
  const why = code === 'EACCES' ? 'it is not executable' : message
  return { kind: 'unstartable', code: EXIT.cannotExecute, why }
}

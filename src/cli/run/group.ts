import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../exit.ts'
import { lookAt } from './members.ts'
import { codeOfSignal } from './signals.ts'

/** Windows has no process groups: there a signal ends the command itself and nothing below it. */
const GROUPS = process.platform !== 'win32'
const SHORTEST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250

/** How the command ended: its exit code, or why it could not be started. */
export type Ending =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'unstartable'; readonly code: number; readonly why: string }

/** A command and every process that it has started in its group. */
export class Group {
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
        // An error after the start is about a signal that could not be sent, and the exit is still to come.
        if (child.pid === undefined) resolve(unstartable(error))
      })
      child.once('exit', (code, signal) => {
        resolve({ kind: 'exited', code: signal === null ? (code ?? EXIT.internal) : codeOfSignal(signal) })
      })
    })
    this.gone = ended.then(() => this.outlast())
    return ended
  }

  /** Settles when the whole group has ended: what the first process started may outlive it. */
  async empty(): Promise<void> {
    await this.gone
  }

  /** The pids that ran at the last look after the end of the first process, as far as they are known. */
  get left(): readonly number[] {
    return this.seen
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

  /** Tells every process of the group. */
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
   * SIGTERM, and SIGKILL for the rest after `graceMs`: the whole group, not only its first process. A stopped one hears
   * SIGTERM only when it goes on, and would do so without the lock: it is killed at once.
   */
  async end(graceMs: number): Promise<void> {
    if (!this.stopped) {
      this.send('SIGTERM')
      // Somebody else may have stopped it.
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
    // From now on the number may be somebody else's.
    this.child = null
  }

  /** Tells if a process of the group runs. The kernel counts zombies, too, and nobody may ever collect them. */
  private async anybody(group: number): Promise<boolean> {
    if (!GROUPS || !exists(group)) return false
    // A look at all processes takes time on a big machine: while one that we know runs, that is enough.
    const known = this.seen.length === 0 ? null : await lookAt(group, this.seen)
    if (known !== null && known.length > 0) return true
    // A process that forks and ends between the list and its turn hides its child, so nobody counts only when seen twice.
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
    // They are there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function unstartable({ code, message }: NodeJS.ErrnoException): Ending {
  if (code === 'ENOENT') return { kind: 'unstartable', code: EXIT.notFound, why: 'there is no such program' }
  const why = code === 'EACCES' ? 'it is not executable' : message
  return { kind: 'unstartable', code: EXIT.cannotExecute, why }
}

import { type ChildProcess, fork } from 'node:child_process'

export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

/** A program that runs by itself; nobody tells it to end unless the test does. */
export class Program {
  /** Settles when the process has ended and all that it said was heard. */
  readonly ended: Promise<End>
  readonly child: ChildProcess
  private output = ''
  private readonly watchers = new Set<() => void>()

  constructor(file: string, args: readonly string[]) {
    this.child = fork(file, args, { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    let stderr = ''
    this.child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    this.child.stdout?.on('data', (chunk) => {
      this.output += chunk
      for (const watcher of [...this.watchers]) watcher()
    })
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve({ code, signal, stderr }))
    })
  }

  /** Settles when the program has printed a line; fails when it ends without. */
  printed(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.output.split('\n').includes(line)) return
        this.watchers.delete(look)
        resolve()
      }
      this.watchers.add(look)
      look()
      void this.ended.then((end) =>
        reject(new Error(`ended without printing ${line}: ${JSON.stringify(end)}`)),
      )
    })
  }

  /** For a test that failed: whatever is left must not outlive it. */
  abandon(): void {
    this.child.kill('SIGKILL')
  }
}

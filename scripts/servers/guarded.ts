import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/**
 * The shell starts the program and waits for the end of its own input, which comes when we close it or when our
 * process ends, however it ends. So no server outlives a test run that was killed.
 */
const GUARD = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -9 $server 2>/dev/null; wait $server'

/** A program and its arguments, with further variables in its environment. */
export function withVariables(
  variables: Readonly<Record<string, string>>,
  program: string,
  args: readonly string[],
): [string, string[]] {
  return ['env', [...Object.entries(variables).map(([name, value]) => `${name}=${value}`), program, ...args]]
}

/** A program that ends with this process. */
export class Guarded {
  private readonly shell: ChildProcess

  constructor(program: string, args: readonly string[]) {
    // In a group of its own, so that a signal to ours does not end the guard before its work is done.
    this.shell = spawn('/bin/sh', ['-c', GUARD, 'guard', program, ...args], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.shell.unref()
    ;(this.shell.stdin as unknown as { unref(): void }).unref()
  }

  /** The program's process id: the shell's first child. */
  get pid(): number {
    const { pid } = this.shell
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
  }

  /** Ends the program if it still runs. */
  async end(): Promise<void> {
    if (this.shell.exitCode !== null || this.shell.signalCode !== null) return
    this.shell.ref()
    const exited = once(this.shell, 'exit')
    this.shell.stdin?.end()
    await exited
  }
}

/** A process that has ended and was not waited for yet is still listed, as a zombie. */
export function hasEnded(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return true
  }
}

import { say } from '../output.ts'
import { age } from '../text.ts'
import type { ProcessGroup } from './group.ts'

/** Signals that ask a command to end. A command that ignores them is ended later. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP'])

/** Forwards signals to a group, and ends it by SIGKILL if it still runs some time after it was asked to end. */
export class Grace {
  private readonly group: ProcessGroup
  private readonly graceMs: number
  private timer: NodeJS.Timeout | undefined

  constructor(group: ProcessGroup, graceMs: number) {
    this.group = group
    this.graceMs = graceMs
  }

  readonly pass = (signal: NodeJS.Signals): void => {
    this.group.send(signal)
    if (ENDING.has(signal) && this.graceMs !== Infinity)
      this.timer ??= setTimeout(() => this.kill(signal), this.graceMs)
  }

  stop(): void {
    clearTimeout(this.timer)
  }

  private kill(signal: NodeJS.Signals): void {
    this.group.send('SIGKILL')
    say(`the command did not end within ${age(this.graceMs)} after ${signal} and was killed`)
  }
}

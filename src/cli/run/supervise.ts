import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from '../../index.ts'
import { say } from '../output.ts'
import { age } from '../text.ts'
import { type Ending, ProcessGroup } from './group.ts'
import type { RunPlan } from './plan.ts'
import type { Signals } from './signals.ts'
import { graceOf, killDelayOf, Warning } from './warning.ts'

const ASK_AGAIN_MS = 50
/** Processes that end together with the first one are gone by then, and need no message. */
const NOTICE_AFTER_MS = 500

/** Runs the command for as long as the lease lasts, and returns its exit code when the last of its processes has ended. */
export async function supervise(plan: RunPlan, lease: Lease, signals: Signals): Promise<number | 'lost'> {
  const { command, ttlMs } = plan
  const group = new ProcessGroup()
  const grace = new Grace(group, plan.graceMs)
  const warning = new Warning(lease, graceOf(ttlMs))
  // Before the start: the command already runs while `start` returns.
  signals.forwardTo(grace.pass)
  const stopPausing = pauseTogether(group, lease, ttlMs)
  // The usual signals ask the command to end; it may ignore them.
  const stopAsking = lease.on('revoked', () => {
    group.send('SIGTERM')
    say(`an operator asks for ${JSON.stringify(lease.key)}; asking the command to end`)
  })
  try {
    const ending = group.start(command, environmentFor(lease))
    const whole = ending.then((first) => outlasted(group, first, plan))
    const first = await Promise.race([whole, warning.due])
    if (typeof first === 'object') return codeOf(first, command[0])
    // No message before: stderr may be a stopped terminal, and a write to it would stop us halfway.
    await group.end(killDelayOf(lease.remainingMs()))
    say(`the lease on ${JSON.stringify(lease.key)} was lost: ${first}; the command was ended`)
    return 'lost'
  } finally {
    grace.stop()
    warning.stop()
    stopAsking()
    stopPausing()
  }
}

/** Waits for the processes that the first one left behind, with a message if that takes time. */
async function outlasted(group: ProcessGroup, ending: Ending, { key, quiet }: RunPlan): Promise<Ending> {
  const notice = setTimeout(() => {
    const which = group.left.length === 0 ? '' : ` (${group.left.join(', ')})`
    say(
      `the command has ended and left processes behind${which}; ${JSON.stringify(key)} stays locked until they end; setsid detaches a process`,
    )
  }, NOTICE_AFTER_MS)
  if (quiet) clearTimeout(notice)
  await group.empty()
  clearTimeout(notice)
  return ending
}

function codeOf(ending: Ending, file: string): number {
  if (ending.kind === 'unstartable') say(`${file} cannot be started: ${ending.why}`)
  return ending.code
}

/** The command gets its key and its token, but neither the store's address nor its password. */
function environmentFor(lease: Lease): NodeJS.ProcessEnv {
  const { HOLDFAST_STORE: _, HOLDFAST_TOKEN: __, ...env } = process.env
  env.HOLDFAST_KEY = lease.key
  if (lease.token !== null) env.HOLDFAST_TOKEN = String(lease.token)
  return env
}

/**
 * A stopped runner cannot renew, so Ctrl-Z stops the command first, and after SIGCONT the command continues only when a
 * renewal has proven the lease.
 */
function pauseTogether(group: ProcessGroup, lease: Lease, ttlMs: number): () => void {
  if (process.platform === 'win32') return () => {}
  const stop = (): void => {
    group.stop()
    process.kill(process.pid, 'SIGSTOP')
  }
  const goOn = async (): Promise<void> => {
    if (await proven(lease, ttlMs)) group.goOn()
  }
  const onContinue = (): void => void goOn()
  process.on('SIGTSTP', stop)
  process.on('SIGCONT', onContinue)
  return () => {
    process.off('SIGTSTP', stop)
    process.off('SIGCONT', onContinue)
  }
}

/** Asks until the store has answered or the lease is over, which the warning handles. */
async function proven(lease: Lease, ttlMs: number): Promise<boolean> {
  while (lease.remainingMs() > 0) {
    try {
      await lease.extend(ttlMs)
      return true
    } catch {
      await sleep(ASK_AGAIN_MS)
    }
  }
  return false
}

/** Signals that ask a command to end. A command that ignores them is ended later. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP'])

/** Forwards signals to a group, and ends it by SIGKILL if it still runs some time after it was asked to end. */
class Grace {
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

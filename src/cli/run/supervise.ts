import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from '../../index.ts'
import { say } from '../output.ts'
import { Grace } from './grace.ts'
import { type Ending, Group } from './group.ts'
import type { Plan } from './plan.ts'
import type { Signals } from './signals.ts'
import { graceOf, killDelayOf, Warning } from './warning.ts'

const ASK_AGAIN_MS = 50
/** Processes that end together with the first one are gone by then, and not worth a word. */
const NOTICE_AFTER_MS = 500

/** Runs the command for as long as the lease lasts, and returns its exit code when the last of its processes has ended. */
export async function supervise(plan: Plan, lease: Lease, signals: Signals): Promise<number | 'lost'> {
  const { command, ttlMs } = plan
  const group = new Group()
  const grace = new Grace(group, plan.graceMs)
  const warning = new Warning(lease, graceOf(ttlMs))
  // Before the start: the command runs while we are still on our way back from starting it.
  signals.forwardTo(grace.pass)
  const stopPausing = pauseTogether(group, lease, ttlMs)
  // The way in which commands are asked to end; one that does not want to may go on.
  const stopAsking = lease.on('revoked', () => {
    group.send('SIGTERM')
    say(`an operator asks for ${JSON.stringify(lease.key)}; asking the command to end`)
  })
  try {
    const ending = group.start(command, environmentFor(lease))
    const whole = ending.then((first) => outlasted(group, first, plan))
    const first = await Promise.race([whole, warning.due])
    if (typeof first === 'object') return codeOf(first, command[0])
    // Nothing is said before: stderr may be a terminal that is stopped, and a write to it stops us in the middle.
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

/** Waits for what the first process has left behind, and says so when that takes time. */
async function outlasted(group: Group, ending: Ending, { key, quiet }: Plan): Promise<Ending> {
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

/** The command learns its key and its token; where the locks are, and with which password, is not its business. */
function environmentFor(lease: Lease): NodeJS.ProcessEnv {
  const { HOLDFAST_STORE: _, HOLDFAST_TOKEN: __, ...env } = process.env
  env.HOLDFAST_KEY = lease.key
  if (lease.token !== null) env.HOLDFAST_TOKEN = String(lease.token)
  return env
}

/**
 * A stopped runner cannot renew, so Ctrl-Z stops the command first, and after SIGCONT the command goes on only when
 * the lease has proven to be still ours.
 */
function pauseTogether(group: Group, lease: Lease, ttlMs: number): () => void {
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

/** Asks until the store has answered or the lease is over; that it is over is for the warning to tell. */
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

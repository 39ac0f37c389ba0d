import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from '../../index.ts'
import { say } from '../output.ts'
import { type Ending, Group } from './group.ts'
import type { Signals } from './signals.ts'
import { graceOf, killDelayOf, Warning } from './warning.ts'

const ASK_AGAIN_MS = 50

/** Runs the command for as long as the lease lasts, and returns its exit code. */
export async function supervise(
  command: readonly [string, ...string[]],
  lease: Lease,
  ttlMs: number,
  signals: Signals,
): Promise<number | 'lost'> {
  const group = new Group()
  const warning = new Warning(lease, graceOf(ttlMs))
  // Before the start: the command runs while we are still on our way back from starting it.
  signals.forwardTo((signal) => group.send(signal))
  const stopPausing = pauseTogether(group, lease, ttlMs)
  // The way in which commands are asked to end; one that does not want to may go on.
  const stopAsking = lease.on('revoked', () => {
    say(`an operator asks for ${JSON.stringify(lease.key)}; asking the command to end`)
    group.send('SIGTERM')
  })
  try {
    const first = await Promise.race([group.start(command, environmentFor(lease)), warning.due])
    if (typeof first === 'object') return codeOf(first, command[0])
    say(`the lease on ${JSON.stringify(lease.key)} was lost: ${first}; ending the command`)
    await group.end(killDelayOf(lease.remainingMs()))
    return 'lost'
  } finally {
    warning.stop()
    stopAsking()
    stopPausing()
  }
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

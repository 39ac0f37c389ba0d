import { spawn } from 'node:child_process'
import type { Call } from './calls/call.ts'
import { COMMAND_MS } from './settings.ts'

export const COMMANDS_PROGRAM = new URL('../../src/cli/main.ts', import.meta.url)

/** The commands of `holdfast`, each in a process of its own. `program` is where they are built. */
export function commandCalls(program: string): Call[] {
  return [
    command('holdfast ls', () => ['ls']),
    command('holdfast show', (key) => ['show', key]),
    command('holdfast evict', (key) => ['evict', key, '--yes'], true),
    command('holdfast doctor', () => ['doctor']),
    command('holdfast reap', () => ['reap']),
    command('holdfast deadlocks', () => ['deadlocks']),
    command('holdfast run --no-wait', (key) => ['run', key, '--no-wait', '--', 'true']),
  ]

  function command(name: string, argsOf: (key: string) => readonly string[], held = false): Call {
    return {
      name,
      boundMs: COMMAND_MS,
      bound: 'callTimeout (5 s) + start and end of a process (3 s)',
      byUrl: true,
      apart: true,
      prepare: async ({ url, key, locks, over }) => {
        if (held) await locks.acquire(key)
        const env = { ...process.env, HOLDFAST_STORE: url as string }
        return () => exitOf(program, argsOf(key), env, over)
      },
    }
  }
}

function exitOf(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(process.execPath, [program, ...args], {
    env,
    stdio: 'ignore',
    signal,
    killSignal: 'SIGKILL',
  })
  return new Promise((resolve) => {
    child.on('error', () => {})
    child.on('exit', (code, by) => resolve(`exit ${code ?? by}`))
  })
}

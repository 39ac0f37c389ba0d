#!/usr/bin/env node
import { setImmediate as turn } from 'node:timers/promises'
import packageJson from '../../package.json' with { type: 'json' }
import { nearest } from '../core/nearest.ts'
import { splitCommand, storesIn } from './arguments.ts'
import type { CliCommand } from './command.ts'
import { COMMANDS, commandNames } from './commands.ts'
import { EXIT, exitCodeOf, UsageError } from './exit.ts'
import { commandHelp, overview } from './help.ts'
import { messageOf, outliveStreams, outputClosed, print, say, sayWarnings } from './output.ts'

/** How long a socket that does not close may keep the process alive after its last output. */
const LINGER_MS = 500
const VERSION_WORDS = ['version', '--version', '-v', '-V']

async function dispatch(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined) {
    process.stderr.write(`${overview(process.stderr)}\n`)
    return EXIT.usage
  }
  if (VERSION_WORDS.includes(name)) {
    print(packageJson.version)
    return EXIT.ok
  }
  if (name === 'help' || name === '--help' || name === '-h') return await help(rest[0])
  const command = await find(name)
  const { own } = splitCommand(rest)
  if (own.includes('--help') || own.includes('-h')) return await help(name)
  try {
    return await command.run(rest)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(error.message)
    say(`holdfast help ${name} shows how`)
    return EXIT.usage
  }
}

async function help(name: string | undefined): Promise<number> {
  print(name === undefined ? overview(process.stdout) : commandHelp((await find(name)).help, process.stdout))
  return EXIT.ok
}

async function find(name: string): Promise<CliCommand> {
  const entry = COMMANDS.find((candidate) => candidate.name === name)
  if (entry !== undefined) return await entry.load()
  const what = name.startsWith('-')
    ? `no option ${name} before a command`
    : `no command ${JSON.stringify(name)}`
  const meant = nearest(name, commandNames())
  throw new UsageError(
    `there is ${what}; ${meant === undefined ? `there are ${commandNames().join(', ')}` : `did you mean ${meant}?`}`,
  )
}

async function main(): Promise<void> {
  outliveStreams()
  sayWarnings()
  try {
    process.exitCode = await dispatch(process.argv.slice(2))
  } catch (error) {
    const { own } = splitCommand(process.argv.slice(2))
    say(messageOf(error), storesIn(own).at(-1))
    process.exitCode = exitCodeOf(error)
    if (process.exitCode === EXIT.internal && error instanceof Error)
      for (const line of error.stack?.split('\n') ?? []) say(line)
  }
  await judgeOutput()
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

/** A reader that closes early, as in `holdfast ls | head`, is no error; a full disk is one. */
async function judgeOutput(): Promise<void> {
  // The error of the last line arrives a turn after it was written.
  await turn()
  const problem: unknown = outputClosed.reason
  if (!outputClosed.aborted || (problem as NodeJS.ErrnoException).code === 'EPIPE') return
  say(`stdout cannot be written: ${messageOf(problem)}`)
  process.exitCode = EXIT.failed
}

void main()

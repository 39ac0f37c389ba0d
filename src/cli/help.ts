import type { Help } from './command.ts'
import { COMMANDS } from './commands.ts'
import { paintFor } from './output.ts'
import { padEnd, widthOf } from './text.ts'

type Pairs = readonly (readonly [string, string])[]

/** The text of `holdfast --help`. */
export function overview(stream: { isTTY?: boolean }): string {
  const paint = paintFor(stream)
  const commands = COMMANDS.filter((entry) => !entry.hidden).map(
    ({ name, summary }) => [name, summary] as const,
  )
  return [
    'Locks for your scripts and services: one holder at a time, on this machine or across many.',
    '',
    ...section(paint('bold', 'Try it'), [
      ['holdfast run backup -- ./backup.sh', 'never two backups at once'],
      ['holdfast run backup --no-wait -- ./backup.sh', 'skip it when one is running'],
      ['holdfast ls', 'who holds what, and who waits'],
      ['holdfast demo', 'what goes wrong without locks, in half a minute'],
      ['holdfast lab', 'why simpler locks fail, each in the fault that breaks it'],
    ]),
    '',
    ...section(paint('bold', 'Commands'), commands),
    '',
    ...section(paint('bold', 'Options'), [
      [
        '--store URL',
        'redis://… or sqlite:./locks.db; without it HOLDFAST_STORE, else an SQLite file of yours',
      ],
      ['--json', 'print JSON, on every command that prints data'],
      ['-h, --help', 'this text; after a command, its help'],
      ['-v, --version', 'the version of holdfast'],
    ]),
    '',
    'holdfast help COMMAND tells more, with examples.',
  ].join('\n')
}

export function commandHelp(help: Help, stream: { isTTY?: boolean }): string {
  const paint = paintFor(stream)
  const examples = help.examples.flatMap(([what, line]) => [paint('dim', `  # ${what}`), `  ${line}`, ''])
  return [
    `${paint('bold', 'Usage')}  ${help.usage}`,
    '',
    help.about,
    '',
    paint('bold', 'Examples'),
    ...examples,
    ...section(paint('bold', 'Options'), help.options),
    ...(help.exits === undefined ? [] : ['', ...section(paint('bold', 'Exit codes'), help.exits)]),
  ].join('\n')
}

function section(title: string, pairs: Pairs): string[] {
  const width = Math.max(...pairs.map(([left]) => widthOf(left)))
  return [title, ...pairs.map(([left, right]) => `  ${padEnd(left, width)}  ${right}`.trimEnd())]
}

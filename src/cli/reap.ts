import type { ReapedThing } from '../index.ts'
import { DATA, readArguments, readDuration } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT, UsageError } from './exit.ts'
import { paintFor, print } from './output.ts'
import { suggestion } from './secrets.ts'
import { openLocks, withLocks } from './store.ts'
import { table } from './table.ts'
import { age, jsonText, neutralise, plural } from './text.ts'

const OPTIONS = {
  ...DATA,
  foreign: { type: 'string', multiple: true },
  older: { type: 'string' },
  'dead-for': { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const

const COLUMNS = [
  { title: 'OUTCOME' },
  { title: 'NAME', atLeast: 12 },
  { title: 'WHAT', atLeast: 12 },
  { title: 'UNUSED FOR', align: 'right', drop: 1 },
] as const

export const reapCommand: CliCommand = {
  help: {
    usage: "holdfast reap [--foreign 'lock:*' --older 1h] [--dead-for 1h] [--yes] [--json]",
    about: [
      'Removes leftovers that are certainly dead: unused rows, locks whose holders and waiters are all dead, parts of stocks',
      'that are gone; keys of other programs without an expiry only on request, by pattern and by the time since their last',
      'use. Without --yes it only lists them. Anything used in the meantime is kept: the server compares.',
    ].join('\n'),
    examples: [
      ['what would go', 'holdfast reap'],
      ['remove it', 'holdfast reap --yes'],
      [
        'SETNX locks that nobody has touched for an hour',
        "holdfast reap --foreign 'lock:*' --older 1h --yes",
      ],
    ],
    options: [
      ['--foreign PATTERN', 'keys of other programs without an end, * for any text; may be given again'],
      ['--older TIME', 'foreign keys that nobody has used for so long; 0s whatever their age'],
      ['--dead-for TIME', 'leave what has been dead for less; 1h by default'],
      ['--yes', 'really remove'],
      STORE_OPTION,
      JSON_OPTION,
    ],
    exits: [
      ['0', 'nothing is left, or without --yes: shown'],
      ['1', 'something was kept, because it was used or its age is not known'],
    ],
  },
  async run(args) {
    const { values } = readArguments(args, OPTIONS, [])
    const { foreign = [], older, yes: remove = false } = values
    if (foreign.length > 0 && older === undefined)
      throw new UsageError('--foreign needs --older: how long nobody may have used a key, such as 1h')
    const deadFor = values['dead-for']
    const options = {
      foreign,
      remove,
      ...(older === undefined ? {} : { older: readDuration('older', older) }),
      ...(deadFor === undefined ? {} : { deadFor: readDuration('dead-for', deadFor) }),
    }
    return await withLocks(openLocks(values.store), async (locks) => {
      locks.on('warning', () => {})
      const things: ReapedThing[] = []
      for await (const thing of locks.reap(options)) things.push(thing)
      if (values.json) print(jsonText(things))
      else for (const line of report(things, remove, values.store)) print(line)
      return remove && things.some(({ outcome }) => outcome === 'kept') ? EXIT.failed : EXIT.ok
    })
  },
}

function report(things: readonly ReapedThing[], remove: boolean, store: string | undefined): string[] {
  if (things.length === 0) return ['nothing is dead']
  const paint = paintFor(process.stdout)
  const rows = things.map(({ outcome, name, what, count, idleMs }) => [
    outcome === 'found' ? 'would go' : outcome,
    neutralise(name),
    neutralise(count === 1 ? what : `${count} ${what}`),
    age(idleMs),
  ])
  const [titles, ...lines] = table(COLUMNS, rows, process.stdout.columns)
  const number = (outcome: ReapedThing['outcome']) => things.filter((each) => each.outcome === outcome).length
  const kept = number('kept')
  const sum = remove
    ? `${plural(number('removed'), 'thing')} removed${kept === 0 ? '' : `, ${kept} kept`}`
    : `nothing was removed; ${suggestion('holdfast reap', store)} … --yes removes ${plural(number('found'), 'thing')}`
  return [paint('dim', titles!), ...lines, '', sum]
}

import type { KeyView } from '../index.ts'
import { DATA, readArguments } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print } from './output.ts'
import { openLocks, withLocks } from './store.ts'
import { table } from './table.ts'
import { age, jsonText, neutralise, plural } from './text.ts'
import { viewData } from './view-data.ts'

const COLUMNS = [
  { title: 'KEY', atLeast: 8 },
  { title: 'HELD BY', atLeast: 8, drop: 3 },
  { title: 'MODE', drop: 1 },
  { title: 'FOR', align: 'right' },
  { title: 'LEFT', align: 'right', drop: 2 },
  { title: 'WAITING', align: 'right' },
] as const

export const ls: CliCommand = {
  help: {
    usage: 'holdfast ls [PREFIX] [--json]',
    about:
      'Lists the keys that are held or waited for, with the holder, the time of the hold and the rest of its lease.',
    examples: [
      ['every key in use', 'holdfast ls'],
      ['only those of one service', 'holdfast ls order:'],
      ['keys that somebody waits for', `holdfast ls --json | jq -r '.[] | select(.queue != []) | .key'`],
    ],
    options: [STORE_OPTION, JSON_OPTION],
  },
  async run(args) {
    const { values, positionals } = readArguments(args, DATA, ['[PREFIX]'])
    return await withLocks(openLocks(values.store), async (locks) => {
      const views: KeyView[] = []
      let failure: unknown = null
      try {
        for await (const view of locks.list({ prefix: positionals[0] ?? '' })) views.push(view)
      } catch (error) {
        // One server of several may be silent: the keys of the others are shown first.
        if (views.length === 0) throw error
        failure = error
      }
      views.sort((one, other) => (one.key < other.key ? -1 : 1))
      if (values.json) print(jsonText(views.map(viewData)))
      else printTable(views)
      if (failure !== null) throw failure
      return EXIT.ok
    })
  },
}

function printTable(views: readonly KeyView[]): void {
  const paint = paintFor(process.stdout)
  if (views.length === 0) {
    print(paint('dim', 'no key is in use'))
    return
  }
  const [titles, ...lines] = table(COLUMNS, views.map(rowOf), process.stdout.columns)
  print(paint('dim', titles!))
  for (const line of lines) print(line)
}

function rowOf({ key, holders, queue, limit }: KeyView): string[] {
  const first = holders[0]
  const others = holders.length > 1 ? ` and ${plural(holders.length - 1, 'other')}` : ''
  const longest = Math.max(...holders.map((holder) => holder.heldMs ?? Number.NEGATIVE_INFINITY))
  const shortest = Math.min(...holders.map((holder) => holder.expiresInMs ?? Number.POSITIVE_INFINITY))
  return [
    neutralise(key),
    first === undefined ? '-' : `${neutralise(first.label)}${others}`,
    modeOf(first?.mode ?? queue[0]?.mode, limit, holders),
    first === undefined ? '-' : age(longest),
    first === undefined ? '-' : age(shortest),
    queue.length === 0 ? '-' : String(queue.length),
  ]
}

/** For a semaphore: the number of permits taken. */
function modeOf(mode: string | undefined, limit: number | null, holders: KeyView['holders']): string {
  if (limit === null) return mode ?? '-'
  return `${holders.reduce((sum, holder) => sum + holder.weight, 0)} of ${limit}`
}

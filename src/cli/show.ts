import type { KeyView } from '../index.ts'
import { DATA, readArguments } from './arguments.ts'
import { type Command, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print } from './output.ts'
import { openLocks, withLocks } from './store.ts'
import { table } from './table.ts'
import { age, jsonText, neutralise, plural } from './text.ts'

const HOLDERS = [
  { title: 'HELD BY', atLeast: 10 },
  { title: 'MODE' },
  { title: 'FOR', align: 'right' },
  { title: 'LEFT', align: 'right' },
  { title: 'TOKEN' },
  { title: 'ABOUT', atLeast: 8 },
] as const

const LINE = [
  { title: '#', align: 'right' },
  { title: 'WAITING', atLeast: 10 },
  { title: 'MODE' },
  { title: 'FOR', align: 'right' },
  { title: 'ABOUT', atLeast: 8 },
] as const

export const show: Command = {
  help: {
    usage: 'holdfast show KEY [--json]',
    about: 'Shows one key: its holders with their tokens, the line in order, and the highest token so far.',
    examples: [
      ['who holds it, and who waits', 'holdfast show order:42'],
      ['is it free?', `holdfast show order:42 --json | jq '.holders == []'`],
    ],
    options: [STORE_OPTION, JSON_OPTION],
  },
  async run(args) {
    const { values, positionals } = readArguments(args, DATA, ['KEY'])
    return await withLocks(openLocks(values.store), async (locks) => {
      const view = await locks.read(positionals[0]!)
      if (values.json) print(jsonText(view))
      else for (const line of portrait(view)) print(line)
      return EXIT.ok
    })
  },
}

function portrait(view: KeyView): string[] {
  const paint = paintFor(process.stdout)
  const width = process.stdout.columns
  const [holderTitles, ...holders] = table(HOLDERS, view.holders.map(holderRow), width)
  const [lineTitles, ...line] = table(LINE, view.line.map(waiterRow), width)
  return [
    `${paint('bold', neutralise(view.key))}  ${stateOf(view)}`,
    paint('dim', view.token === null ? 'no token is remembered' : `highest token ${view.token}`),
    ...(holders.length === 0 ? [] : ['', paint('dim', holderTitles!), ...holders]),
    ...(line.length === 0 ? [] : ['', paint('dim', lineTitles!), ...line]),
  ]
}

/** The holders alone, for the question before an eviction. */
export function holderTable(view: KeyView, width: number | undefined): string[] {
  return table(HOLDERS, view.holders.map(holderRow), width)
}

function stateOf({ holders, line, limit, closedForMs }: KeyView): string {
  if (holders.length > 0) {
    const taken = holders.reduce((sum, holder) => sum + holder.weight, 0)
    const held = limit === null ? 'held' : `${taken} of ${plural(limit, 'permit')} taken`
    return line.length === 0 ? held : `${held}, ${line.length} waiting`
  }
  if (closedForMs > 0) return `closed for another ${age(closedForMs)} after a lease ran out`
  return line.length === 0 ? 'free' : `free, ${line.length} waiting`
}

function holderRow(holder: KeyView['holders'][number]): string[] {
  return [
    neutralise(holder.label),
    holder.mode,
    age(holder.heldMs),
    age(holder.expiresInMs),
    holder.token === null ? '-' : String(holder.token),
    aboutText(holder),
  ]
}

function waiterRow(waiter: KeyView['line'][number], at: number): string[] {
  return [String(at + 1), neutralise(waiter.label), waiter.mode, age(waiter.waitedMs), aboutText(waiter)]
}

/** What the claim says about itself. */
function aboutText({ owner, meta }: { owner: string | null; meta: string | null }): string {
  return neutralise([owner === null ? '' : `owner ${owner}`, meta ?? ''].filter(Boolean).join(' '))
}

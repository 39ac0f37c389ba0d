import type { Eviction, KeyView } from '../index.ts'
import { DATA, readArguments } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print } from './output.ts'
import { openLocks, withLocks } from './store.ts'
import { table } from './table.ts'
import { age, jsonText, neutralise, plural } from './text.ts'
import { viewData } from './view-data.ts'

const HOLDERS = [
  { title: 'HELD BY', atLeast: 8 },
  { title: 'MODE', drop: 2 },
  { title: 'FOR', align: 'right', drop: 4 },
  { title: 'LEFT', align: 'right', drop: 3 },
  { title: 'TOKEN' },
  { title: 'ABOUT', atLeast: 8, drop: 1 },
] as const

const QUEUE = [
  { title: '#', align: 'right' },
  { title: 'WAITING', atLeast: 8 },
  { title: 'MODE', drop: 2 },
  { title: 'FOR', align: 'right' },
  { title: 'ABOUT', atLeast: 8, drop: 1 },
] as const

const EVICTIONS = [
  { title: 'WHEN (UTC)' },
  { title: 'OPERATOR', atLeast: 10 },
  { title: 'DID' },
  { title: 'WHOM', atLeast: 12 },
] as const

export const showCommand: CliCommand = {
  help: {
    usage: 'holdfast show KEY [--json]',
    about: [
      'Shows one key: its holders with their tokens, the queue in order, the highest token so far, and the evictions of',
      'its holders within the last 30 days.',
    ].join('\n'),
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
      const evictions = await locks.evictions(positionals[0]!)
      if (values.json) print(jsonText({ ...viewData(view), evictions }))
      else for (const line of [...portrait(view), ...history(evictions)]) print(line)
      return EXIT.ok
    })
  },
}

function portrait(view: KeyView): string[] {
  const paint = paintFor(process.stdout)
  const width = process.stdout.columns
  const [holderTitles, ...holders] = table(HOLDERS, view.holders.map(holderRow), width)
  const [queueTitles, ...queue] = table(QUEUE, view.queue.map(waiterRow), width)
  return [
    `${paint('bold', neutralise(view.key))}  ${stateOf(view)}`,
    paint('dim', view.token === null ? 'no token is remembered' : `highest token ${view.token}`),
    ...(holders.length === 0 ? [] : ['', paint('dim', holderTitles!), ...holders]),
    ...(queue.length === 0 ? [] : ['', paint('dim', queueTitles!), ...queue]),
  ]
}

/** The holders and the waiters, for the question before an eviction. */
export function holdersAndQueue(view: KeyView, width: number | undefined): string[] {
  const holders = table(HOLDERS, view.holders.map(holderRow), width)
  return view.queue.length === 0
    ? holders
    : [...holders, '', ...table(QUEUE, view.queue.map(waiterRow), width)]
}

/** The evictions, the latest first. */
function history(evictions: readonly Eviction[]): string[] {
  if (evictions.length === 0) return []
  const rows = evictions.map(({ at, by, asked, holders }) => {
    const whom = holders.map(
      ({ label, token, heldMs }) => `${label} (token ${token ?? '-'}, had it for ${age(heldMs)})`,
    )
    return [
      at.slice(0, 19).replace('T', ' '),
      neutralise(by),
      asked ? 'asked' : 'evicted',
      neutralise(whom.join(', ')),
    ]
  })
  const [titles, ...lines] = table(EVICTIONS, rows, process.stdout.columns)
  return ['', paintFor(process.stdout)('dim', titles!), ...lines]
}

function stateOf({ holders, queue, limit, closedForMs }: KeyView): string {
  if (holders.length > 0) {
    const taken = holders.reduce((sum, holder) => sum + holder.weight, 0)
    const held = limit === null ? 'held' : `${taken} of ${plural(limit, 'permit')} taken`
    return queue.length === 0 ? held : `${held}, ${queue.length} waiting`
  }
  if (closedForMs > 0) return `closed for another ${age(closedForMs)} after a lease ran out`
  return queue.length === 0 ? 'free' : `free, ${queue.length} waiting`
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

function waiterRow(waiter: KeyView['queue'][number], at: number): string[] {
  return [String(at + 1), neutralise(waiter.label), waiter.mode, age(waiter.waitedMs), aboutText(waiter)]
}

/** The claim's own description of itself. */
function aboutText({ owner, meta }: { owner: string | null; meta: string | null }): string {
  return neutralise([owner === null ? '' : `owner ${owner}`, meta ?? ''].filter(Boolean).join(' '))
}

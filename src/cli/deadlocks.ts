import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeadlockStep, Locks } from '../index.ts'
import { DATA, readArguments } from './arguments.ts'
import { type CliCommand, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print, say } from './output.ts'
import { suggestion } from './secrets.ts'
import { openLocks, withLocks } from './store.ts'
import { age, jsonText, neutralise, padEnd, plural, shellWord, widthOf } from './text.ts'

type Cycle = readonly DeadlockStep[]

/** The findings of one look. */
interface Seen {
  readonly cycles: readonly Cycle[]
  /** The claims whose other waits and holds cannot be known. */
  readonly untold: { readonly holders: number; readonly waiters: number }
}

const OPTIONS = { ...DATA, watch: { type: 'boolean' } } as const
const EVERY_MS = 2_000

export const deadlocks: CliCommand = {
  help: {
    usage: 'holdfast deadlocks [--watch] [--json]',
    about: [
      'Draws the deadlocks over all processes. It sees programs that detect deadlocks themselves',
      '(onDeadlock), and actors with a name; it also counts the others, which holdfast doctor judges',
      'by process. A cycle has to be seen twice, which takes a second or two.',
    ].join('\n'),
    examples: [
      ['is there one now?', 'holdfast deadlocks'],
      ['report every new one', 'holdfast deadlocks --watch'],
      ['the keys of each', "holdfast deadlocks --json | jq -c '.[] | map(.waitsFor)'"],
    ],
    options: [
      ['--watch', 'look again and again, and print what has changed, until Ctrl-C'],
      STORE_OPTION,
      ['--json', 'print the circles as JSON; what could not be judged goes to stderr'],
    ],
    exits: [
      ['0', 'none was seen'],
      ['1', 'one was seen'],
    ],
  },
  async run(args) {
    const { values } = readArguments(args, OPTIONS, [])
    const show = (seen: Seen, locks: Locks): void => {
      const blind = blindness(seen, locks, values.store)
      if (values.json) {
        print(jsonText(seen.cycles))
        if (blind !== null) say(blind)
      } else for (const line of report(seen, blind, values.store)) print(line)
    }
    return await withLocks(openLocks(values.store), async (locks) => {
      locks.on('warning', () => {})
      if (values.watch) return await watch(locks, (seen) => show(seen, locks))
      const seen = await look(locks)
      show(seen, locks)
      return seen.cycles.length === 0 ? EXIT.ok : EXIT.failed
    })
  },
}

async function look(locks: Locks): Promise<Seen> {
  const cycles = await locks.deadlocks()
  const { records } = locks.traits
  // Without records a process cannot publish, so only a given name tells.
  const isUntold = ({ actor }: { readonly actor: string | null }) =>
    actor === null || (!records && actor.startsWith('@'))
  let holders = 0
  let waiters = 0
  for await (const view of locks.list()) {
    holders += view.holders.filter(isUntold).length
    waiters += view.queue.filter(isUntold).length
  }
  return { cycles, untold: { holders, waiters } }
}

async function watch(locks: Locks, show: (seen: Seen) => void): Promise<number> {
  const stop = new AbortController()
  void once(process, 'SIGINT', { signal: stop.signal }).then(
    () => stop.abort(),
    () => {},
  )
  let before: string | null = null
  let code: number = EXIT.ok
  try {
    while (!stop.signal.aborted) {
      const seen = await look(locks)
      if (seen.cycles.length > 0) code = EXIT.failed
      const cycles = seen.cycles.map((cycle) => cycle.map(({ label, waitsFor }) => [label, waitsFor]))
      // Their number changes all the time; only their existence is news.
      const now = JSON.stringify([cycles, seen.untold.holders + seen.untold.waiters > 0])
      if (now !== before) show(seen)
      before = now
      await sleep(EVERY_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  } finally {
    stop.abort()
  }
  return code
}

/** Names the claims that a negative answer does not cover; null if it covers all. */
function blindness({ untold }: Seen, { traits }: Locks, store: string | undefined): string | null {
  const { holders, waiters } = untold
  if (holders + waiters === 0) return null
  const why = traits.records
    ? 'programs without onDeadlock and without named actors'
    : `the ${traits.name} store has no records, so that only named actors tell`
  const doctor = suggestion('holdfast doctor', store)
  return `not judged: ${plural(holders, 'holder')} and ${plural(waiters, 'waiter')} (${why}); see ${doctor}`
}

function report({ cycles }: Seen, blind: string | null, store: string | undefined): string[] {
  const paint = paintFor(process.stdout)
  const rest = blind === null ? [] : [paint('dim', blind)]
  if (cycles.length === 0)
    return [`${paint('green', 'none seen')}: nobody is known to wait in a circle`, ...rest]
  return [
    ...cycles.flatMap((cycle) => [
      `${paint('red', 'deadlock')}: ${plural(cycle.length, 'actor')} in a circle`,
      '',
      ...drawing(cycle),
      '',
      `one has to let go: ${paint('bold', evictionOf(cycle, store))}`,
      '',
    ]),
    ...rest,
  ]
}

function evictionOf([first]: Cycle, store: string | undefined): string {
  return suggestion(`holdfast evict ${shellWord(first?.waitsFor ?? '')}`, store)
}

/** Each holds the key that the one above waits for, and the first the key that the last one waits for. */
export function drawing(cycle: Cycle): string[] {
  const names = cycle.map(nameOf)
  const width = Math.max(...names.map(widthOf))
  const rows = cycle.flatMap((step, row) => {
    const isLast = row === cycle.length - 1
    const name = padEnd(names[row] as string, width)
    return [
      `  ${row === 0 ? '+->' : '|  '} ${name}  ${heldBy(step)}`,
      `  |     | waits for ${neutralise(step.waitsFor)} for ${age(step.waitedMs)}`,
      isLast ? '  +-----+' : '  |     v',
    ]
  })
  return rows.map((row) => row.trimEnd())
}

function nameOf({ label, actor }: DeadlockStep): string {
  return neutralise(actor === null ? label : `${label} (${actor})`)
}

function heldBy({ holds, heldMs }: DeadlockStep): string {
  if (holds.length === 0) return 'is before it in the queue'
  return `holds ${holds.map(neutralise).join(', ')}${heldMs === null ? '' : ` for ${age(heldMs)}`}`
}

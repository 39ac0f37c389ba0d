import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeadlockStep, Locks } from '../index.ts'
import { DATA, readArguments } from './arguments.ts'
import { type Command, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print } from './output.ts'
import { openLocks, withLocks } from './store.ts'
import { age, jsonText, neutralise, padEnd, plural, widthOf } from './text.ts'

type Cycle = readonly DeadlockStep[]

const OPTIONS = { ...DATA, watch: { type: 'boolean' } } as const
const EVERY_MS = 2_000

export const deadlocks: Command = {
  help: {
    usage: 'holdfast deadlocks [--watch] [--json]',
    about: [
      'Draws who waits for whom in a circle, over all processes. Seen are programs that look for deadlocks themselves',
      '(onDeadlock), and actors that have a name. A circle has to be seen twice, which takes a second or two.',
    ].join('\n'),
    examples: [
      ['is there one now?', 'holdfast deadlocks'],
      ['tell when there is one', 'holdfast deadlocks --watch'],
      ['the keys of each', "holdfast deadlocks --json | jq -c '.[] | map(.waitsFor)'"],
    ],
    options: [
      ['--watch', 'look again and again, and print what has changed, until Ctrl-C'],
      STORE_OPTION,
      JSON_OPTION,
    ],
    exits: [
      ['0', 'there is none; with --watch: there was none'],
      ['1', 'there is one; with --watch: there was one'],
    ],
  },
  async run(args) {
    const { values } = readArguments(args, OPTIONS, [])
    const show = (cycles: readonly Cycle[], locks: Locks): void => {
      if (values.json) print(jsonText(cycles))
      else for (const line of report(cycles, locks)) print(line)
    }
    return await withLocks(openLocks(values.store), async (locks) => {
      locks.on('warning', () => {})
      if (values.watch) return await watch(locks, (cycles) => show(cycles, locks))
      const cycles = await locks.deadlocks()
      show(cycles, locks)
      return cycles.length === 0 ? EXIT.ok : EXIT.failed
    })
  },
}

async function watch(locks: Locks, show: (cycles: readonly Cycle[]) => void): Promise<number> {
  const stop = new AbortController()
  void once(process, 'SIGINT', { signal: stop.signal }).then(
    () => stop.abort(),
    () => {},
  )
  let seen: string | null = null
  let code: number = EXIT.ok
  try {
    while (!stop.signal.aborted) {
      const cycles = await locks.deadlocks()
      if (cycles.length > 0) code = EXIT.failed
      const now = JSON.stringify(cycles.map((cycle) => cycle.map(({ label, waitsFor }) => [label, waitsFor])))
      if (now !== seen) show(cycles)
      seen = now
      await sleep(EVERY_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  } finally {
    stop.abort()
  }
  return code
}

function report(cycles: readonly Cycle[], locks: Locks): string[] {
  const paint = paintFor(process.stdout)
  const blind = locks.traits.records
    ? []
    : [paint('dim', `the ${locks.traits.name} store keeps no notes: only actors that have a name are seen`)]
  if (cycles.length === 0) return [`${paint('green', 'none')}: nobody waits in a circle`, ...blind]
  return [
    ...cycles.flatMap((cycle) => [
      `${paint('red', 'deadlock')}: ${plural(cycle.length, 'actor')} in a circle`,
      '',
      ...drawing(cycle),
      '',
      `one has to let go: ${paint('bold', `holdfast evict ${shellWord(cycle[0]?.waitsFor ?? '')}`)}`,
      '',
    ]),
    ...blind,
  ]
}

/** Each holds what the one above it waits for, and the first what the last one waits for. */
export function drawing(cycle: Cycle): string[] {
  const names = cycle.map(nameOf)
  const width = Math.max(...names.map(widthOf))
  const rows = cycle.flatMap((step, place) => {
    const isLast = place === cycle.length - 1
    const name = padEnd(names[place] as string, width)
    return [
      `  ${place === 0 ? '+->' : '|  '} ${name}  ${heldBy(step)}`,
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
  if (holds.length === 0) return 'is before it in the line'
  return `holds ${holds.map(neutralise).join(', ')}${heldMs === null ? '' : ` for ${age(heldMs)}`}`
}

/** The key as it can be pasted into a shell. */
function shellWord(key: string): string {
  const safe = neutralise(key)
  return /^[\w:.@/-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

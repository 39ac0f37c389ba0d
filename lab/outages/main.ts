import { parseArgs } from 'node:util'
import { Bundle } from '../../bench/bundle.ts'
import { Screen } from '../faults/screen.ts'
import { CALLS } from './calls/index.ts'
import { COMMANDS_PROGRAM, commandCalls } from './commands.ts'
import { aligned, failuresOf, keep, type Result, SUMMARY_TITLES, summaryOf, tableOf } from './report.ts'
import { run } from './run.ts'
import { WORLDS } from './stores/index.ts'
import type { World } from './world.ts'

const NAMES = Object.keys(WORLDS)

const USAGE = `Every public call on the bad days of real servers: how it ends, and after which time.

  --only NAMES    some of ${NAMES.join(', ')}
  --faults NAMES  only these faults, as the table names them
  --json          the results as JSON
  --write         keeps the results of stores without failures in docs/results/outages

The exit code is 1 when a call ends 0.7 s after its bound or later, or with an error without a code.`

const AT_ONCE = 2
const STOP_MS = 5000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    faults: { type: 'string' },
    json: { type: 'boolean' },
    write: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

const screen = new Screen()
const worlds = new Set<World>()
const results: Result[] = []
const failures: string[] = []

if (values.help) console.log(USAGE)
else await main()

async function main(): Promise<void> {
  const waiting = chosen()
  // A call that was left behind must not end the run, nor go unseen.
  for (const event of ['unhandledRejection', 'uncaughtException'] as const)
    process.on(event, (error) => fail(`nobody handled: ${error instanceof Error ? error.stack : error}`))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void interrupted())
  const bundle = await Bundle.of(COMMANDS_PROGRAM)
  process.once('exit', () => bundle.remove())
  const program = bundle.path(COMMANDS_PROGRAM)
  const next = async (): Promise<void> => {
    for (let store = waiting.shift(); store !== undefined; store = waiting.shift()) await one(store, program)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  report()
  // Calls without an end would keep the process.
  process.exit(failures.length > 0 ? 1 : 0)
}

async function one(store: string, program: string): Promise<void> {
  screen.progress(store, 'starts')
  try {
    const world = await (WORLDS[store] as () => Promise<World>)()
    worlds.add(world)
    try {
      const rows = await run(faultsOf(world), {
        calls: [...CALLS, ...commandCalls(program)],
        onProgress: (text) => screen.progress(store, text),
      })
      const result = { store, rows, notTried: world.notTried ?? {} }
      results.push(result)
      failures.push(...failuresOf(result))
    } finally {
      await stop(world)
    }
  } catch (error) {
    fail(`${store}: ${error instanceof Error ? error.stack : error}`)
  }
  screen.progress(store, 'done')
}

function faultsOf(world: World): World {
  if (values.faults === undefined) return world
  const names = values.faults.split(',')
  return { ...world, faults: world.faults.filter(({ name }) => names.includes(name)) }
}

function chosen(): string[] {
  const names = values.only?.split(',') ?? NAMES
  const unknown = names.filter((name) => !NAMES.includes(name))
  if (unknown.length > 0) throw new Error(`no store is called ${unknown.join(', ')}: ${NAMES.join(', ')}`)
  return [...names]
}

function fail(what: string): void {
  failures.push(what)
  screen.say(what)
}

function report(): void {
  screen.end()
  results.sort((one, other) => NAMES.indexOf(one.store) - NAMES.indexOf(other.store))
  if (values.json) console.log(JSON.stringify(results, null, 2))
  else {
    for (const result of results) console.log(`${result.store}\n\n${aligned(tableOf(result))}\n`)
    console.log(`${aligned([SUMMARY_TITLES, ...results.flatMap(summaryOf)])}\n`)
  }
  for (const result of values.write ? results : []) {
    const kept = failuresOf(result).length === 0 && values.faults === undefined
    console.error(kept ? `${keep(result)} written` : `${result.store} is not kept`)
  }
  for (const failure of failures) console.error(`FAILED ${failure}`)
}

async function interrupted(): Promise<void> {
  setTimeout(() => process.exit(130), STOP_MS)
  await Promise.all([...worlds].map(stop))
  process.exit(130)
}

async function stop(world: World): Promise<void> {
  if (worlds.delete(world)) await world.stop()
}

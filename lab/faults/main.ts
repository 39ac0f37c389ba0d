import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Bundle } from '../../bench/bundle.ts'
import { CONTROLS, playControls } from './controls/index.ts'
import { STORES, type StoreName } from './expectations.ts'
import { LONG, type Pace, SHORT } from './nemeses.ts'
import { writeReport } from './report/pages.ts'
import { keep } from './report/results.ts'
import { replayCommand, type Summary, summaryOf } from './report/summary.ts'
import { judge, run } from './run.ts'
import { Screen } from './screen.ts'

const USAGE = `Real faults against real servers, and a check of everything that happened.

  --store NAME    one of ${STORES.join(', ')}
  --all           every store, two at a time
  --minutes N     how long, fractions allowed (1)
  --seed N        the faults and their order; one of chance when left out
  --faults KIND   only faults whose kind begins so, e.g. server or "server pause"; may be given again
  --short         every store, or the one that is named, for some seconds, and always the same faults
  --control NAME  only this broken lock: the checks must flag it
  --judge         judges the history of that store and seed once more, without a run
  --keep          adds the result to docs/results
  --out DIR       where histories and reports go (.cache/faults)`

const SHORT_MINUTES = 0.07
const SHORT_SEED = 184
const AT_ONCE = 2
const END_MS = 3000

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    all: { type: 'boolean' },
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    faults: { type: 'string', multiple: true },
    short: { type: 'boolean' },
    control: { type: 'string' },
    judge: { type: 'boolean' },
    keep: { type: 'boolean' },
    out: { type: 'string', default: '.cache/faults' },
    help: { type: 'boolean' },
  },
})

const WORKER = new URL('./worker.ts', import.meta.url)
const screen = new Screen()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

if (values.help) console.log(USAGE)
else await main()

async function main(): Promise<void> {
  const flagged = await controls()
  if (values.control !== undefined || flagged === null) return
  const bundle = await Bundle.of(WORKER)
  try {
    // The slowest stores are last in the list; they start first, so that no core is idle at the end.
    const waiting = [...chosenStores()].reverse()
    const next = async (): Promise<void> => {
      for (let store = waiting.shift(); store !== undefined && !stop.signal.aborted; store = waiting.shift())
        await one(store, flagged, bundle.path(WORKER))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
  } finally {
    bundle.remove()
    screen.end()
  }
  // Everything was stopped. Should something have been forgotten, it must not hold up whoever waits for the end.
  setTimeout(() => {
    console.error(`still open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit()
  }, END_MS).unref()
}

/** How many broken locks were flagged; null when one was not, and everything else is void. */
async function controls(): Promise<number | null> {
  const chosen = CONTROLS.filter(({ name }) => values.control === undefined || name === values.control)
  if (chosen.length === 0)
    throw new Error(`no control has that name: ${CONTROLS.map(({ name }) => name).join(', ')}`)
  // Another run may play them at the same time.
  const folder = `${values.out}/controls-${process.pid}`
  const results = await playControls(chosen, folder)
  for (const { control, flag } of results) {
    if (flag === null) screen.say(`control "${control.name}" was not flagged: the run is void`)
    else if (values.control !== undefined)
      screen.say(`${control.name} (${control.lacks}): ${flag.check}, ${flag.what}`)
  }
  const flagged = results.filter(({ flag }) => flag !== null).length
  screen.say(`${'controls'.padEnd(10)} ${flagged} of ${chosen.length} broken locks flagged`)
  if (flagged === chosen.length) {
    rmSync(folder, { recursive: true, force: true })
    return flagged
  }
  process.exitCode = 1
  return null
}

async function one(store: StoreName, flagged: number, program: string): Promise<void> {
  const seed = values.seed === undefined ? seedOfItsOwn() : positive('seed', values.seed)
  const pace: Pace = values.short ? SHORT : LONG
  const minutes = values.short ? SHORT_MINUTES : positive('minutes', values.minutes)
  const folder = `${values.out}/${store}-${seed}`
  const onProgress = (text: string): void => screen.progress(store, text)
  try {
    const history = `${folder}/history`
    const result = values.judge
      ? judge(store, seed, history)
      : await run({
          ...{ store, seed, minutes, pace, program, onProgress },
          ...{ kinds: values.faults ?? [''], folder: history, stop: stop.signal },
        })
    const summary = summaryOf(result, flagged)
    const page = writeReport(folder, result, summary)
    screen.say(line(summary))
    for (const { check, key, what } of summary.violations) screen.say(`  ${check} on "${key}": ${what}`)
    if (summary.violations.length > 0) {
      const only = (values.faults ?? []).map((kind) => ` --faults "${kind}"`).join('')
      screen.say(`  ${replayCommand(summary)}${only}\n  ${page}`)
      process.exitCode = 1
    } else if (!values.short) screen.say(`  ${page}`)
    if (values.keep && !stop.signal.aborted) screen.say(`  ${keep(summary)}`)
  } catch (error) {
    screen.say(`${store}, seed ${seed}: ${error instanceof Error ? error.stack : error}`)
    process.exitCode = 1
  }
}

function seedOfItsOwn(): number {
  return values.short ? SHORT_SEED : 1 + Math.floor(Math.random() * 999_999)
}

function line(summary: Summary): string {
  const { store, seed, faults, classB } = summary
  const count = Object.values(faults).reduce((sum, each) => sum + each, 0)
  const parts = [
    `${summary.minutes} min`,
    `${summary.grants} grants`,
    `${count} faults of ${Object.keys(faults).length} kinds`,
    `A ${summary.classA}`,
    `B ${classB.refused} refused`,
    `C ${summary.classC}`,
    `stale ${summary.staleWrites}`,
    `lost wake-ups ${summary.lostWakeUps}`,
    `recovery ${summary.worstRecoveryMs} ms`,
    summary.violations.length === 0 ? 'ok' : `${summary.violations.length} VIOLATIONS`,
  ]
  return `${store.padEnd(10)} seed ${String(seed).padEnd(6)} ${parts.join(', ')}`
}

function chosenStores(): readonly StoreName[] {
  if (values.store === undefined && (values.all || values.short)) return STORES
  const found = STORES.find((name) => name === values.store)
  if (found === undefined) throw new Error(`--store needs one of ${STORES.join(', ')}, or use --all`)
  return [found]
}

function positive(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0)
    throw new Error(`--${option} needs a number above 0, not ${text}`)
  return value
}

import { readArguments } from '../../src/cli/arguments.ts'
import { type CliCommand, JSON_OPTION } from '../../src/cli/command.ts'
import { DemoScreen } from '../../src/cli/demo/screen.ts'
import { EXIT, UsageError } from '../../src/cli/exit.ts'
import { outputClosed, print, say } from '../../src/cli/output.ts'
import { codeOfSignal } from '../../src/cli/run/signals.ts'
import { jsonText } from '../../src/cli/text.ts'
import { nearest } from '../../src/core/nearest.ts'
import { UnsupportedError } from '../../src/index.ts'
import { prepareFolder, type Told, writePage } from './drawing/page.ts'
import { findPlace } from './places.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { allShown, announce, canRun, conclude, introduce, show } from './show.ts'
import type { Stage } from './stage.ts'

const LONGEST_MS = 170_000
const NAME_COLUMNS = 23

export const lab: CliCommand = {
  help: {
    usage: 'holdfast lab [SCENARIO…] [--store redis://…] [--svg DIR] [--json] [--list]',
    about: [
      'The story of the lock, by running it: every generation of the Redis lock in the fault that breaks it, with real',
      'processes that are killed and paused and real servers that crash. Every scenario says what it has to show, and fails',
      'when it does not.',
    ].join('\n'),
    examples: [
      ['the whole story, in about a minute', 'holdfast lab'],
      ['one scenario', 'holdfast lab v1-crash'],
    ],
    options: [
      ['--store URL', 'a Redis to use; else one of its own, else the one on port 6379, else a model of one'],
      ['--sql URL', 'a PostgreSQL for the comparison of transactions; without it SQLite'],
      ['--svg DIR', 'write the pictures and a page of them into a folder'],
      ['--list', 'name the scenarios'],
      JSON_OPTION,
    ],
    exits: [
      ['0', 'every scenario showed what it claims'],
      ['1', 'one did not'],
    ],
  },
  async run(args) {
    const { values, positionals } = readArguments(
      args,
      {
        store: { type: 'string' },
        sql: { type: 'string' },
        svg: { type: 'string' },
        json: { type: 'boolean' },
        list: { type: 'boolean' },
      },
      SCENARIOS.map(({ name }) => `[${name}]`),
    )
    const chosen = choose(positionals)
    if (values.list) {
      for (const { name, title } of chosen) print(`${name.padEnd(NAME_COLUMNS)}${title}`)
      return EXIT.ok
    }
    if (process.platform === 'win32')
      throw new UnsupportedError('the lab pauses processes with SIGSTOP, which Windows lacks')
    const cancel = new AbortController()
    const onSignal = (signal: NodeJS.Signals): void => cancel.abort(signal)
    const onClosed = (): void => cancel.abort('SIGPIPE')
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
    outputClosed.addEventListener('abort', onClosed)
    const timer = setTimeout(() => cancel.abort('late'), LONGEST_MS)
    try {
      return await perform(chosen, values, cancel.signal)
    } catch (error) {
      if (!cancel.signal.aborted) throw error
      if (cancel.signal.reason !== 'late') return codeOfSignal(cancel.signal.reason as NodeJS.Signals)
      say(`the lab was not done after ${LONGEST_MS / 1_000} s`)
      return EXIT.failed
    } finally {
      clearTimeout(timer)
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      outputClosed.removeEventListener('abort', onClosed)
    }
  },
}

interface Wishes {
  readonly store?: string | undefined
  readonly sql?: string | undefined
  readonly svg?: string | undefined
  readonly json?: boolean | undefined
}

async function perform(chosen: readonly Scenario[], wishes: Wishes, cancelled: AbortSignal): Promise<number> {
  const { store, sql, svg, json = false } = wishes
  if (svg !== undefined) prepareFolder(svg)
  const screen = new DemoScreen(json)
  const place = await findPlace(store)
  try {
    introduce(screen, place)
    const told = await tell(chosen, { place, sql, screen, cancelled })
    conclude(screen, told)
    if (svg !== undefined) screen.line(`The pictures: ${writePage(svg, place.about, told)}`)
    if (json) print(jsonText({ where: place.about, scenarios: told.map(dataOf) }))
    return told.every(({ outcome }) => allShown(outcome)) ? EXIT.ok : EXIT.failed
  } finally {
    await place.close()
  }
}

/** The scenarios and groups that were named, in the order of the story. */
function choose(names: readonly string[]): readonly Scenario[] {
  const known = [...new Set(SCENARIOS.flatMap(({ name, group }) => [name, group]))]
  for (const name of names) {
    if (known.includes(name)) continue
    const meant = nearest(name, known)
    throw new UsageError(
      `there is no scenario ${JSON.stringify(name)}; ${meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`}`,
    )
  }
  if (names.length === 0) return SCENARIOS
  return SCENARIOS.filter(({ name, group }) => names.includes(name) || names.includes(group))
}

async function tell(chosen: readonly Scenario[], stage: Stage): Promise<Told[]> {
  const told: Told[] = []
  for (const [at, scenario] of chosen.entries()) {
    stage.cancelled.throwIfAborted()
    announce(stage, scenario, String(at + 1).padStart(2))
    if (!canRun(stage, scenario)) continue
    const outcome = await scenario.run(stage)
    stage.cancelled.throwIfAborted()
    show(stage.screen, outcome)
    told.push({ scenario, outcome })
  }
  return told
}

function dataOf({ scenario: { name, title }, outcome: { claims, figures, data } }: Told): object {
  return { name, title, claims, ...data, figures }
}

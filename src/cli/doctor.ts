import type { Diagnosis, Finding } from '../index.ts'
import { DATA, readArguments, readDuration } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT } from './exit.ts'
import { paintFor, print } from './output.ts'
import { suggestion } from './secrets.ts'
import { openLocks, withLocks } from './store.ts'
import { jsonText, neutralise, plural } from './text.ts'

const OPTIONS = {
  ...DATA,
  foreign: { type: 'string', multiple: true },
  'max-ttl': { type: 'string' },
  usual: { type: 'string' },
  stuck: { type: 'string' },
  watch: { type: 'string' },
  'dead-for': { type: 'string' },
} as const

export const doctor: CliCommand = {
  help: {
    usage: "holdfast doctor [PREFIX] [--foreign 'lock:*'] [--usual 2s] [--watch 1s] [--json]",
    about: [
      'Looks for all known problems of locks: deadlocks, holders and waiters whose process is gone or',
      'stopped, queues that do not move, holds far beyond the usual, ttls that do not fit, keys of other programs without an',
      'expiry, leftovers, servers that can lose locks, clocks that differ. Looks twice, changes nothing, and',
      'lists at the end the parts that it could not inspect.',
    ].join('\n'),
    examples: [
      ['everything', 'holdfast doctor'],
      ['also the SETNX locks of another program', "holdfast doctor --foreign 'lock:*'"],
      [
        'only what needs somebody now',
        `holdfast doctor --json | jq '.findings[] | select(.severity == "critical")'`,
      ],
    ],
    options: [
      ['--foreign PATTERN', 'keys of other programs to look at, * for any text; may be given again'],
      ['--usual TIME', 'how long keys are usually held; ten times that is a finding'],
      ['--max-ttl TIME', 'a longer ttl is a finding'],
      [
        '--stuck TIME',
        'a queue whose head has waited so long and does not move is critical; by default ten times the',
      ],
      ['', 'usual; if that is not known: 5s is a note, 20s a warning, 1m critical'],
      ['--watch TIME', 'how long to watch before looking again; 1s by default'],
      ['--dead-for TIME', 'what has been dead for less goes by itself; 1h by default'],
      STORE_OPTION,
      JSON_OPTION,
    ],
    exits: [
      ['0', 'nothing found, or notes only'],
      ['1', 'the worst is a warning'],
      ['2', 'something is critical'],
    ],
  },
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, ['[PREFIX]'])
    const times = {
      maxTtl: values['max-ttl'],
      usual: values.usual,
      stuck: values.stuck,
      watch: values.watch,
      deadFor: values['dead-for'],
    }
    const given = Object.entries(times).filter((pair): pair is [string, string] => pair[1] !== undefined)
    const options = {
      prefix: positionals[0] ?? '',
      foreign: values.foreign ?? [],
      ...Object.fromEntries(given.map(([name, text]) => [name, readDuration(OPTION_OF[name] ?? name, text)])),
    }
    return await withLocks(openLocks(values.store), async (locks) => {
      // The warnings of the store are among the findings.
      locks.on('warning', () => {})
      const stop = values.json ? () => {} : progress()
      const { findings, ...rest } = await locks.doctor(options).finally(stop)
      const fixable = findings.map((each) => ({ ...each, fix: suggestion(each.fix, values.store) }))
      const diagnosis = { ...rest, findings: fixable }
      if (values.json) print(jsonText(diagnosis))
      else for (const line of report(diagnosis, process.stdout)) print(line)
      return exitOf(diagnosis)
    })
  },
}

const OPTION_OF: Readonly<Record<string, string>> = { maxTtl: 'max-ttl', deadFor: 'dead-for' }
const COLOURS = { critical: 'red', warning: 'yellow', note: 'cyan' } as const

/** A progress line on a terminal. */
function progress(): () => void {
  if (!process.stderr.isTTY) return () => {}
  process.stderr.write('looking, and in a moment once more …')
  return () => process.stderr.write('\r\x1b[K')
}

function report({ findings, keys, watchedMs, unseen }: Diagnosis, stream: NodeJS.WriteStream): string[] {
  const paint = paintFor(stream)
  const looked = `${plural(keys, 'key')} in use, watched for ${(watchedMs / 1000).toFixed(1)} s`
  const blind = unseen.map(({ what, why }) => paint('dim', `not seen: ${neutralise(`${what}: ${why}`)}`))
  if (findings.length === 0) return [`${paint('green', 'healthy')}: nothing found (${looked})`, ...blind]
  return [
    `${plural(findings.length, 'finding')} (${looked})`,
    ...findings.flatMap((each) => ['', ...portrait(each, paint)]),
    ...(blind.length === 0 ? [] : ['', ...blind]),
  ]
}

function portrait(
  { code, severity, key, evidence, meaning, fix }: Finding,
  paint: ReturnType<typeof paintFor>,
): string[] {
  return [
    `${paint(COLOURS[severity], severity)}  ${paint('bold', code)}${key === null ? '' : `  ${neutralise(key)}`}`,
    `  seen   ${neutralise(evidence)}`,
    `  means  ${meaning}`,
    `  fix    ${paint('bold', neutralise(fix))}`,
  ]
}

function exitOf({ severity }: Diagnosis): number {
  if (severity === 'critical') return EXIT.critical
  return severity === 'warning' ? EXIT.failed : EXIT.ok
}

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Bundle } from './bundle.ts'
import type { Context } from './context.ts'
import { type Machine, thisMachine } from './machine.ts'
import { benchRedis, REDIS_PARTS, REDIS_PROGRAMS } from './redis.ts'
import { describeMachine, describeResult } from './report.ts'
import type { Result, Size } from './result.ts'
import { benchSqlite, CONTENDER, PAIR } from './sqlite.ts'

const MEMORY = new URL('./programs/memory.ts', import.meta.url)
const LEASES = new URL('./programs/leases.ts', import.meta.url)

const BENCHES: Record<string, (context: Context) => Result | Promise<Result>> = {
  memory: ({ bundle, size }) => inOneProcess(bundle.path(MEMORY), size),
  leases: ({ bundle, size }) => inOneProcess(bundle.path(LEASES), size),
  sqlite: benchSqlite,
  redis: benchRedis,
}

const USAGE = `npm run bench -- [${Object.keys(BENCHES).join('|')}]… [--json] [--write] [--tiny] [--only PART,…] [--profile FOLDER]
  --json     print the results as JSON
  --write    keep them in bench/results/
  --tiny     only show that everything runs: the figures mean nothing
  --only     some parts of redis: ${REDIS_PARTS.join(', ')}
  --profile  keep a CPU profile of every process of redis in that folder`

/** A process of its own, so that no workload meets the heap and the compiled code of another. */
function inOneProcess(program: string, size: Size): Result {
  const output = execFileSync(process.execPath, ['--expose-gc', program, size], { encoding: 'utf8' })
  return JSON.parse(output) as Result
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    tiny: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name))
const wrong =
  unknown.length > 0
    ? `Unknown: ${unknown.join(', ')}.`
    : values.write && values.only !== undefined
      ? 'What is kept is the whole of a benchmark: --write and --only exclude each other.'
      : null
if (values.help || wrong !== null) {
  console.log(wrong === null ? USAGE : `${wrong}\n${USAGE}`)
  process.exitCode = values.help ? 0 : 64
} else {
  await run()
}

async function run(): Promise<void> {
  const machine = thisMachine()
  const results: Record<string, Result> = {}
  const say = (text: string): void => {
    if (!values.json) console.log(`${text}\n`)
  }
  say(describeMachine(machine))
  const bundle = await Bundle.of(MEMORY, LEASES, PAIR, CONTENDER, ...REDIS_PROGRAMS)
  const context: Context = {
    bundle,
    size: values.tiny ? 'tiny' : 'full',
    ...(values.only !== undefined && { only: values.only.split(',') }),
    ...(values.profile !== undefined && { profile: values.profile }),
    progress: (what) => console.error(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${what}`),
  }
  try {
    for (const name of names) {
      const result = await BENCHES[name]?.(context)
      if (result === undefined) continue
      const { svg: _, ...figures } = result
      results[name] = figures
      say(describeResult(result))
      if (values.write) keep(name, machine, result)
      if (result.overlaps > 0) process.exitCode = 1
    }
  } finally {
    bundle.remove()
  }
  if (values.json) console.log(JSON.stringify({ machine, results }, null, 2))
}

function keep(name: string, machine: Machine, { svg, ...result }: Result): void {
  const folder = new URL('./results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify({ machine, ...result }, null, 2)}\n`)
  if (svg !== undefined) writeFileSync(new URL(`${name}.svg`, folder), svg)
}

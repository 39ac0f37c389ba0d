import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { bundleWorker } from './bundle.ts'
import { hunt } from './hunt.ts'
import { MUTANTS } from './mutants.ts'
import type { Plan } from './plan.ts'
import { Runner } from './pool.ts'
import { QUORUM_MUTANTS } from './quorum/mutants.ts'
import { keep } from './results.ts'
import type { Report } from './run.ts'
import { sweep } from './sweep.ts'
import { outline, timeline } from './timeline.ts'
import type { PlanOrSeed } from './worker.ts'

const USAGE = `Deterministic simulation of the core, the model and the quorum.

  --quorum       over several servers that vote, instead of one
  --seeds N      how many seeds to run (2000)
  --from N       the first seed (1)
  --seed N       one seed, with a timeline and a smaller plan if it fails
  --plan FILE    one plan
  --mutants      plant every known bug and see that each is found
  --mutant NAME  only this one
  --keep         keep the result of the seeds in docs/results
  --workers N    threads (one per core)
  --json         the result as JSON`

const { values } = parseArgs({
  options: {
    quorum: { type: 'boolean' },
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    plan: { type: 'string' },
    mutants: { type: 'boolean' },
    mutant: { type: 'string' },
    keep: { type: 'boolean' },
    workers: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

const folder = '.cache/simulation'
const workers = whole('workers', values.workers ?? String(availableParallelism()))
if (values.help) console.log(USAGE)
else if (values.mutants || values.mutant !== undefined) await plant()
else if (values.plan !== undefined) await examine(JSON.parse(readFileSync(values.plan, 'utf8')) as Plan)
else if (values.seed !== undefined) await examine(planOf(whole('seed', values.seed)))
else await runSeeds()

async function runSeeds(): Promise<void> {
  const file = await bundleWorker('worker')
  const from = whole('from', values.from)
  const result = await sweep(file, workers, from, whole('seeds', values.seeds), !values.json, planOf)
  const { failures, differing, ...figures } = result
  if (values.json) console.log(JSON.stringify({ ...figures, failures, differing }))
  else {
    const { seeds, virtualHours, faults, grants, seconds } = figures
    const violations = `${failures.length} violations${differing.length > 0 ? `, seeds that differ when repeated: ${differing.join(', ')}` : ''}`
    console.log(
      `${seeds} seeds, ${virtualHours} virtual hours, ${faults} faults, ${grants} grants, ${violations}, ${seconds} s`,
    )
    for (const { seed, violation } of failures.slice(0, 20))
      console.log(`seed ${seed}: ${violation?.invariant}: ${violation?.what}`)
  }
  if (values.keep) {
    const file = keep(values.quorum ? 'quorum-simulation' : 'simulation', from, result)
    if (!values.json) console.log(`kept in ${file}`)
  }
  if (failures.length > 0 || differing.length > 0) process.exitCode = 1
  const first = failures[0]
  if (first !== undefined && !values.json) await examine(planOf(first.seed))
}

/** Runs one plan with a timeline; a failing one is made smaller first. */
async function examine(plan: PlanOrSeed): Promise<void> {
  const runner = new Runner(await bundleWorker('worker'))
  try {
    const report = await runner.ask({ kind: 'run', plan, tracing: true })
    if (report.violation === null) {
      console.log(values.json ? JSON.stringify({ ...report, trace: undefined }) : summary(report))
      return
    }
    process.exitCode = 1
    const smaller = await runner.ask({ kind: 'shrink', plan, invariant: report.violation.invariant })
    const shrunk = await runner.ask({ kind: 'run', plan: smaller, tracing: true })
    mkdirSync(folder, { recursive: true })
    const flag = smaller.nodes === undefined ? '' : '--quorum '
    const file = `${folder}/${flag === '' ? '' : 'quorum-'}seed-${smaller.seed}.json`
    writeFileSync(file, `${JSON.stringify(smaller, null, 1)}\n`)
    console.log(timeline(shrunk))
    console.log(
      `\nshrunk to ${outline(smaller)}; replay with\n  npm run sim -- ${flag}--seed ${smaller.seed}\n  npm run sim -- --plan ${file}`,
    )
  } finally {
    await runner.close()
  }
}

async function plant(): Promise<void> {
  const mutants = values.quorum ? QUORUM_MUTANTS : MUTANTS
  const chosen = mutants.filter(({ name }) => values.mutant === undefined || name === values.mutant)
  if (chosen.length === 0)
    throw new Error(`no mutant has that name: ${mutants.map(({ name }) => name).join(', ')}`)
  const { catches, seconds } = await hunt(chosen, workers, !values.json, planOf)
  const escaped = catches.filter(({ seed }) => seed === null)
  if (values.json) console.log(JSON.stringify({ catches, seconds }))
  else
    console.log(
      `${catches.length} mutants, ${catches.length - escaped.length} found, ${escaped.length} escaped, ${seconds} s`,
    )
  if (escaped.length > 0) process.exitCode = 1
}

function planOf(seed: number): PlanOrSeed {
  return values.quorum ? { quorumSeed: seed } : seed
}

function summary({ seed, digest, virtualMs, events, faults, grants }: Report): string {
  return `seed ${seed}: no violation; ${virtualMs / 1000} virtual seconds, ${faults} faults, ${grants} grants, ${events} events, digest ${digest}`
}

function whole(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${option} needs a whole number above 0, not ${text}`)
  return value
}

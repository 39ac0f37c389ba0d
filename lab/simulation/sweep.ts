import { reenters } from './generate.ts'
import { spread } from './pool.ts'
import type { Report } from './run.ts'
import type { PlanOrSeed } from './worker.ts'

/** One seed in a hundred runs twice: the same seed must do the same. */
const REPEAT_EVERY = 100

export interface Sweep {
  readonly seeds: number
  readonly virtualHours: number
  readonly faults: number
  readonly grants: number
  readonly events: number
  readonly lostMessages: number
  readonly doubledMessages: number
  readonly refusedWrites: number
  readonly seconds: number
  readonly failures: readonly Report[]
  /** Seeds whose second run was not the same as the first. */
  readonly differing: readonly number[]
}

/** Runs many seeds on all workers. */
export async function sweep(
  file: string,
  workers: number,
  from: number,
  seeds: number,
  talk: boolean,
  planOf: (seed: number) => PlanOrSeed,
): Promise<Sweep> {
  const beganMs = performance.now()
  const reports: Report[] = []
  const differing: number[] = []
  const all = Array.from({ length: seeds }, (_, index) => from + index)
  const wanted = [...all.filter((seed) => !reenters(seed)), ...all.filter(reenters)]
  await spread(file, workers, wanted, async (runner, seed) => {
    const report = await runner.ask({ kind: 'run', plan: planOf(seed), tracing: false })
    reports.push(report)
    if (seed % REPEAT_EVERY === 0) {
      const again = await runner.ask({ kind: 'run', plan: planOf(seed), tracing: false })
      if (again.digest !== report.digest) differing.push(seed)
    }
    if (talk && process.stderr.isTTY) process.stderr.write(`\r${reports.length} of ${seeds} seeds`)
  })
  if (talk && process.stderr.isTTY) process.stderr.write('\r')
  const sum = (figure: (report: Report) => number): number =>
    reports.reduce((total, each) => total + figure(each), 0)
  return {
    seeds: reports.length,
    virtualHours: Math.round(sum(({ virtualMs }) => virtualMs) / 36_000) / 100,
    faults: sum(({ faults }) => faults),
    grants: sum(({ grants }) => grants),
    events: sum(({ events }) => events),
    lostMessages: sum(({ lost }) => lost),
    doubledMessages: sum(({ doubled }) => doubled),
    refusedWrites: sum(({ refusedWrites }) => refusedWrites),
    seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    failures: reports.filter(({ violation }) => violation !== null).sort((a, b) => a.seed - b.seed),
    differing: differing.sort((a, b) => a - b),
  }
}

import { startRedis } from '../scripts/servers/redis.ts'
import type { Bench, Context } from './context.ts'
import { OFF, SUBJECTS, WORKLOADS } from './metrics/order.ts'
import { Worker } from './metrics/worker.ts'
import type { Result, Row, Target } from './result.ts'
import { median } from './statistics.ts'

export const METRICS_PROGRAM = new URL('./programs/metrics.ts', import.meta.url)

// Many short rounds: what else the machine does lasts longer than one, so it hardly touches their ratios. And several
// processes of each subject, because two of the same differ by a few parts in a hundred.
const FULL = { processes: 3, warmUps: 8, rounds: 40, roundMs: 40 }
const TINY = { processes: 1, warmUps: 0, rounds: 1, roundMs: 1 }

const NOTES: readonly string[] = [
  'CPU time of the process that takes the locks, by process.cpuUsage, everything in it: client library, garbage collection.',
  'A process for each subject, rounds in turn; the ratio is the median over neighbouring rounds.',
  'The memory store is shown, not judged: there a lock costs about as much as reading the clock a few times.',
]

type Rounds = Map<string, number[]>

/** The cost of metrics: the same locks without a listener, with the figures for Prometheus, and with OpenTelemetry's no-op. */
async function run({ bundle, size, profile, progress }: Context): Promise<Result> {
  const { processes, ...plan } = size === 'tiny' ? TINY : FULL
  const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const server = await startRedis({ persistent: false })
  try {
    const rows: Row[] = []
    for (const workload of Object.keys(WORKLOADS)) {
      progress(`metrics: ${workload}`)
      const rounds: Rounds = new Map(SUBJECTS.map((subject) => [subject, []]))
      for (let started = 0; started < processes; started++) {
        const order = { url: server.url, workload, roundMs: plan.roundMs }
        const workers = SUBJECTS.map((subject): [string, Worker] => [
          subject,
          new Worker(bundle.path(METRICS_PROGRAM), { ...order, subject }, execArgv),
        ])
        await measure(workers, plan, rounds)
      }
      rows.push(...rowsOf(workload, rounds))
    }
    return { rows, targets: targetsOf(rows), overlaps: 0, notes: NOTES }
  } finally {
    await server.stop()
  }
}

/** Rounds of all in turn, each time another one first. */
async function measure(
  workers: readonly [string, Worker][],
  { warmUps, rounds }: { readonly warmUps: number; readonly rounds: number },
  into: Rounds,
): Promise<void> {
  for (let number = 0; number < warmUps + rounds; number++) {
    for (let turn = 0; turn < workers.length; turn++) {
      const [subject, worker] = workers[(number + turn) % workers.length] as [string, Worker]
      const microseconds = await worker.round()
      if (number >= warmUps) into.get(subject)?.push(microseconds)
    }
  }
  for (const [, worker] of workers) await worker.end()
}

function rowsOf(workload: string, rounds: Rounds): Row[] {
  const off = rounds.get(OFF) as readonly number[]
  return [...rounds].map(([subject, each]) => ({
    workload,
    subject,
    figures: {
      'times off': median(each.map((microseconds, round) => microseconds / (off[round] as number))),
      'CPU µs each': median(each),
    },
  }))
}

function targetsOf(rows: readonly Row[]): Target[] {
  return rows
    .filter(({ workload, subject }) => WORKLOADS[workload]?.judged === true && subject !== OFF)
    .map(({ workload, subject, figures }) => ({
      what: `${workload}: CPU time with ${subject}, times off`,
      value: figures['times off'] as number,
      bound: { atMost: 1.05 },
    }))
}

export const METRICS: Bench = { run }

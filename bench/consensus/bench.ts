import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Bench, Context } from '../context.ts'
import { olderTargets } from '../older.ts'
import { installPeers, peerVersions } from '../peers.ts'
import type { Measured } from '../redis/rounds.ts'
import type { Result, Row, Target } from '../result.ts'
import type { StoreName } from './orders.ts'
import { Session } from './session.ts'
import { BARE, OURS } from './subject.ts'
import { FIGURES, processes, uncontended, waiters } from './workloads.ts'

export const CONSENSUS = new URL('../programs/consensus.ts', import.meta.url)

/** The contenders, and the targets. */
export interface Contest {
  readonly store: StoreName
  readonly title: string
  readonly peer: string
  /** How many times the peer's rate ours is at least. */
  readonly timesPeer: number
  /** The packages that are compared. */
  readonly packages: readonly string[]
  /** The one of them that has to be compiled. */
  readonly compiled?: string
}

const FOLDER = fileURLToPath(new URL('..', import.meta.url))

export function benchOf(contest: Contest): Bench {
  const names = namesOf(contest)
  const parts: Record<string, (session: Session) => Promise<Measured>> = {
    sequential: (session) => uncontended(session, names.sequential, 64, 1),
    keys: (session) => uncontended(session, names.keys, 100, 100),
    waiters: (session) => waiters(session, names.waiters, 50),
    processes: (session) => processes(session, names.processes, 8),
  }
  const judge = (rows: readonly Row[]): Target[] => targetsOf(contest, rows)
  const run = async ({ bundle, size, only, profile, progress }: Context): Promise<Result> => {
    const unknown = only?.filter((part) => !Object.hasOwn(parts, part)) ?? []
    if (unknown.length > 0) throw new Error(`--only knows ${Object.keys(parts).join(', ')} here`)
    if (size === 'full') prepare(contest, progress)
    const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
    const session = await Session.start({
      store: contest.store,
      program: bundle.path(CONSENSUS),
      size,
      execArgv,
    })
    try {
      const measured: Measured[] = []
      for (const [part, measure] of Object.entries(parts)) {
        if (only !== undefined && !only.includes(part)) continue
        progress(`${contest.store}: ${part}`)
        measured.push(await measure(session))
      }
      const rows = measured.flatMap((workload) => workload.rows)
      const overlaps = measured.reduce((sum, workload) => sum + workload.overlaps, 0)
      const versions = Object.entries(peerVersions()).filter(([name]) => contest.packages.includes(name))
      return { rows, targets: judge(rows), overlaps, versions: Object.fromEntries(versions) }
    } finally {
      await session.end()
    }
  }
  return { run, judge }
}

/** Packages are installed without their scripts, so that what has to be compiled is compiled here. */
function prepare({ compiled }: Contest, progress: Context['progress']): void {
  installPeers(progress)
  if (compiled === undefined) return
  progress(`compiling ${compiled} …`)
  const args = ['rebuild', compiled, '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', args, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] })
}

function namesOf({ title }: Contest) {
  return {
    sequential: `${title}, one after the other`,
    keys: `${title}, 100 keys at once`,
    waiters: `${title}, 50 waiters in one process`,
    processes: `${title}, 8 processes with 1 waiter each, 1 ms of work`,
  } as const
}

/** Like with like: the middle of the hand-offs with the middle of the round trips, the slowest with the slowest. */
function targetsOf(contest: Contest, rows: readonly Row[]): Target[] {
  const names = namesOf(contest)
  const value = (workload: string, subject: string, figure: string): number | undefined =>
    rows.find((row) => row.workload === workload && row.subject === subject)?.figures[figure]
  const judged = (what: string, found: number | undefined, bound: Target['bound']): Target[] =>
    found === undefined || Number.isNaN(found) ? [] : [{ what, value: found, bound }]
  const timesPeer = (workload: string): Target[] => {
    const [own, theirs] = [OURS, contest.peer].map((subject) => value(workload, subject, FIGURES.rate))
    const ratio = own === undefined || theirs === undefined ? undefined : own / theirs
    return judged(`${workload}: times ${contest.peer}`, ratio, { atLeast: contest.timesPeer })
  }
  const trips = (handOff: string, trip: string): Target[] => {
    const [own, one] = [handOff, trip].map((figure) => value(names.processes, OURS, figure))
    const ratio = own === undefined || one === undefined ? undefined : own / one
    return judged(`${names.processes}: ${handOff}, in round trips (${trip})`, ratio, { atMost: 3 })
  }
  const timesBare = (workload: string, atLeast: number): Target[] =>
    judged(`${workload}: times the ${BARE}`, value(workload, OURS, FIGURES.ratio), { atLeast })
  return [
    ...timesBare(names.sequential, 0.8),
    ...timesPeer(names.sequential),
    ...timesBare(names.keys, 0.8),
    ...timesPeer(names.keys),
    ...timesBare(names.waiters, 10),
    ...timesPeer(names.waiters),
    ...timesPeer(names.processes),
    ...trips(FIGURES.handOff50, FIGURES.trip50),
    ...trips(FIGURES.handOff99, FIGURES.trip99),
    ...olderTargets(rows, OURS),
  ]
}

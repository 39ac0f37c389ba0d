import { type Contender, type Outcome, outcomeOf, type Start, type Visit } from '../contest.ts'
import { nowNs } from '../now.ts'
import { timesOlder } from '../older.ts'
import { median, quantile } from '../statistics.ts'
import { entryOf } from './catalogue.ts'
import type { LineDone } from './orders.ts'
import { inTurn, type Measured, ratioToBase } from './rounds.ts'
import type { Session } from './session.ts'
import type { Part } from './subject.ts'

const NANOSECONDS_PER_MS = 1e6
/** Until every process has been told that it begins. */
const HEAD_START_MS = 20
/** Nobody can be faster under one key than one who is never disturbed. */
const ALONE = { processes: 1, waiters: 1 }

export interface Line {
  readonly workload: string
  readonly part: Part
  readonly processes: number
  readonly waiters: number
  readonly workMs: number
  readonly lastsMs: number
  readonly rounds: number
  /** Rounds before them that do not count. */
  readonly warmUps: number
}

interface Round extends Outcome {
  readonly commands: number
  readonly clientMicroseconds: number
  readonly failures: number
}

/** One key that many want. */
export async function contended(session: Session, full: Line): Promise<Measured> {
  const line = session.size === 'tiny' ? smaller(full) : full
  const { workload, part, rounds, warmUps } = line
  const measured = await inTurn(session.subjects(part), { rounds, warmUps }, (subject) =>
    measure(session, subject, line),
  )
  const rows = [...measured].map(([subject, rounds]) => ({
    workload,
    subject,
    figures: {
      'times raw': ratioToBase(measured, subject),
      ...timesOlder(measured, subject, ({ perSecond }) => perSecond),
      ...figuresOf(rounds),
    },
  }))
  return { rows, overlaps: [...measured.values()].flat().reduce((sum, { overlaps }) => sum + overlaps, 0) }
}

function smaller(line: Line): Line {
  return { ...line, processes: Math.min(line.processes, 2), lastsMs: 150, rounds: 1, warmUps: 0 }
}

async function measure(session: Session, subject: string, line: Line): Promise<Round> {
  const { workMs, lastsMs } = line
  const { processes, waiters } = entryOf(subject).role === 'limit' ? ALONE : line
  // A process alone is the subject's own; several are shared by all subjects, since what they do is mostly to wait.
  const names =
    processes === 1 ? [subject] : Array.from({ length: processes }, (_, index) => `shared ${index}`)
  const workers = await Promise.all(names.map((name) => session.worker(name, subject)))
  const { answer, counted } = await session.counters.of(async () => {
    const startNs = nowNs() + HEAD_START_MS * NANOSECONDS_PER_MS
    const start: Start = { startNs, endNs: startNs + lastsMs * NANOSECONDS_PER_MS }
    const order = { subject, waiters, workMs, ...start }
    return { start, done: await Promise.all(workers.map((worker) => worker.tell('line', order))) }
  })
  const { start, done } = answer
  const failures = done.reduce((sum, worker) => sum + worker.failures, 0)
  if (failures > 0 && entryOf(subject).role !== 'peer') throw new Error(`${subject} failed ${failures} times`)
  const contenders = done.flatMap((worker, index) => contendersOf(worker, processes === 1 ? null : index))
  const acquisitions = contenders.reduce((sum, { visits }) => sum + visits.length, 0)
  return {
    ...outcomeOf(contenders, start),
    commands: session.commands(subject, counted.calls) / acquisitions,
    clientMicroseconds: done.reduce((sum, worker) => sum + worker.cpuMicroseconds, 0) / acquisitions,
    failures,
  }
}

/** Waiters of one process are places of their own only when there is no other process. */
function contendersOf({ visits }: LineDone, place: number | null): Contender[] {
  return visits.map((flat, index) => ({ place: place ?? index, visits: visitsOf(flat) }))
}

function visitsOf(flat: Float64Array): Visit[] {
  return Array.from({ length: flat.length / 3 }, (_, index) => {
    const [askNs = 0, enterNs = 0, exitNs = 0] = flat.subarray(3 * index, 3 * index + 3)
    return [askNs, enterNs, exitNs]
  })
}

function figuresOf(rounds: readonly Round[]): Record<string, number> {
  const waitsMs = rounds.flatMap((round) => round.waitsMs)
  const handOffsMs = rounds.flatMap((round) => round.handOffsMs)
  return {
    'per second': median(rounds.map((round) => round.perSecond)),
    'wait p50 ms': quantile(waitsMs, 0.5),
    'wait p99 ms': quantile(waitsMs, 0.99),
    'hand-off p50 ms': quantile(handOffsMs, 0.5),
    'hand-off p99 ms': quantile(handOffsMs, 0.99),
    'crossing %': 100 * median(rounds.map((round) => round.crossing)),
    commands: median(rounds.map((round) => round.commands)),
    "fairness (Jain's)": median(rounds.map((round) => round.fairness)),
    'client CPU µs': median(rounds.map((round) => round.clientMicroseconds)),
    failures: rounds.reduce((sum, round) => sum + round.failures, 0),
  }
}

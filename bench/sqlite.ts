import { execFileSync } from 'node:child_process'
import type { Bundle } from './bundle.ts'
import type { Context } from './context.ts'
import { olderTargets, timesOlder } from './older.ts'
import type { Result, Row, Size, Target } from './result.ts'
import { type Contest, contend } from './sqlite/contest.ts'
import type { Outcome } from './sqlite/outcome.ts'
import { OLDERS, RING, SETTINGS, SUBJECTS, type SubjectName } from './sqlite/subjects.ts'
import { median, quantile } from './statistics.ts'

export const PAIR = new URL('./programs/pair.ts', import.meta.url)
export const CONTENDER = new URL('./programs/contender.ts', import.meta.url)

type Figures = ReturnType<typeof figuresOf>
type Workload = Pick<Contest, 'processes' | 'tasks' | 'keys' | 'workMs'>

const OURS = SUBJECTS[0]

const WORKLOADS: readonly Workload[] = [
  { processes: 8, tasks: 8, keys: 'own', workMs: 0 },
  { processes: 8, tasks: 8, keys: 'one', workMs: 0 },
  { processes: 8, tasks: 8, keys: 'one', workMs: 1 },
  { processes: 8, tasks: 1, keys: 'own', workMs: 0 },
  { processes: 8, tasks: 1, keys: 'one', workMs: 0 },
]

const NOTES: readonly string[] = [
  'Every task asks, comes in, does its work and goes out, again and again, without a pause; all subjects alike.',
  'Hand-off: from somebody leaving to the entry of one who was waiting at that moment, wherever it waits.',
  ...Object.entries(SETTINGS).map(([subject, settings]) => `${subject}: ${settings}.`),
]

/** SQLite beside lock files: alone in one process, then several processes, on keys of their own and on one key. */
export async function benchSqlite({ bundle, size }: Context): Promise<Result> {
  const alone = JSON.parse(
    execFileSync(process.execPath, [bundle.path(PAIR), size], { encoding: 'utf8' }),
  ) as Result
  const results = [alone]
  for (const workload of WORKLOADS) results.push(await compare(bundle, size, workload))
  return {
    notes: NOTES,
    rows: results.flatMap(({ rows }) => rows),
    targets: results.flatMap(({ targets }) => targets),
    overlaps: results.reduce((sum, { overlaps }) => sum + overlaps, 0),
  }
}

async function compare(bundle: Bundle, size: Size, workload: Workload): Promise<Result> {
  const rounds = size === 'tiny' ? 1 : 3
  const shape = {
    ...workload,
    ...(size === 'tiny' ? { processes: 2, lastsMs: 100, warmUpMs: 10 } : { lastsMs: 1_500, warmUpMs: 1_000 }),
  }
  const subjects: readonly SubjectName[] =
    workload.keys === 'one' && workload.tasks === 1
      ? [...SUBJECTS, ...OLDERS, RING]
      : [...SUBJECTS, ...OLDERS]
  const outcomes = new Map<string, Outcome[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      outcomes.get(subject)?.push(await contend(bundle.path(CONTENDER), { ...shape, subject }))
    }
  }
  const ours = outcomes.get(OURS) as Outcome[]
  const name = nameOf(shape)
  const rows: Row[] = []
  const targets: Target[] = []
  for (const [subject, theirs] of outcomes) {
    const rate = median(ours.map((own, index) => own.perSecond / (theirs[index] as Outcome).perSecond))
    const beside = timesOlder(outcomes, subject, ({ perSecond }) => perSecond)
    const figures = figuresOf(theirs, workload.keys)
    rows.push({ workload: name, subject, figures: { ...figures, 'holdfast, times this': rate, ...beside } })
    if (![OURS, RING, ...OLDERS].includes(subject))
      targets.push(...targetsOf(workload, name, subject, figuresOf(ours, workload.keys), figures))
  }
  const overlaps = [...outcomes.values()].flat().reduce((sum, outcome) => sum + outcome.overlaps, 0)
  return { rows, targets: [...targets, ...olderTargets(rows, OURS)], overlaps }
}

function nameOf({ processes, tasks, keys, workMs }: Workload): string {
  const work = workMs === 0 ? 'no work' : `${workMs} ms of work`
  return `SQLite, ${processes} processes × ${tasks}, ${keys === 'one' ? 'one key' : 'a key each'}, ${work}`
}

/** The rate is not judged where the work takes most of the time: no lock could do it faster than the work lasts. */
function targetsOf(
  workload: Workload,
  name: string,
  subject: string,
  ours: Figures,
  theirs: Figures,
): Target[] {
  const rate: Target = {
    what: `${name}: acquisitions per second, times ${subject}`,
    value: ours['per second'] / theirs['per second'],
    bound: { atLeast: 20 },
  }
  const handOff: Target = {
    what: `${name}: hand-off p99, shorter than ${subject} by`,
    value: (theirs['hand-off p99 ms'] ?? 0) / (ours['hand-off p99 ms'] ?? 0),
    bound: { atLeast: 10 },
  }
  return [...(workload.workMs === 0 ? [rate] : []), ...(workload.keys === 'one' ? [handOff] : [])]
}

function figuresOf(outcomes: readonly Outcome[], keys: Workload['keys']) {
  const handOffsMs = outcomes.flatMap((outcome) => outcome.handOffsMs)
  const waitsMs = outcomes.flatMap((outcome) => outcome.waitsMs)
  const crossingsMs = outcomes.flatMap((outcome) => outcome.crossingsMs)
  const contended = {
    'hand-off p50 ms': quantile(handOffsMs, 0.5),
    'hand-off p99 ms': quantile(handOffsMs, 0.99),
    'to another process %': (100 * crossingsMs.length) / handOffsMs.length,
    'of these p50 ms': quantile(crossingsMs, 0.5),
    'of these p99 ms': quantile(crossingsMs, 0.99),
  }
  return {
    'per second': median(outcomes.map((outcome) => outcome.perSecond)),
    'CPU µs each': median(outcomes.map((outcome) => outcome.cpuMicroseconds)),
    ...(keys === 'one' ? contended : {}),
    'wait p50 ms': quantile(waitsMs, 0.5),
    'wait p99 ms': quantile(waitsMs, 0.99),
    "fairness (Jain's)": median(outcomes.map((outcome) => outcome.fairness)),
  }
}

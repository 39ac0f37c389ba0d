import { execFileSync } from 'node:child_process'
import type { Bundle } from './bundle.ts'
import { contend, type Outcome } from './contest.ts'
import type { Context } from './context.ts'
import type { Result, Row, Size, Target } from './result.ts'
import { median, quantile } from './statistics.ts'
import { SUBJECTS } from './subjects.ts'

export const PAIR = new URL('./programs/pair.ts', import.meta.url)
export const CONTENDER = new URL('./programs/contender.ts', import.meta.url)

type Figures = ReturnType<typeof figuresOf>

const OURS = SUBJECTS[0]

/** SQLite beside lock files: alone in one process, then several processes on one key. */
export async function benchSqlite({ bundle, size }: Context): Promise<Result> {
  const alone = JSON.parse(
    execFileSync(process.execPath, [bundle.path(PAIR), size], { encoding: 'utf8' }),
  ) as Result
  const withWork = await contested(bundle, size, 1)
  const without = await contested(bundle, size, 0)
  return {
    rows: [...alone.rows, ...withWork.rows, ...without.rows],
    targets: [...alone.targets, ...withWork.targets, ...without.targets],
    overlaps: withWork.overlaps + without.overlaps,
  }
}

async function contested(bundle: Bundle, size: Size, workMs: number): Promise<Result> {
  const rounds = size === 'tiny' ? 1 : 3
  const lastsMs = size === 'tiny' ? 200 : 2_000
  const processes = size === 'tiny' ? 3 : 8
  const outcomes = new Map<string, Outcome[]>(SUBJECTS.map((subject) => [subject, []]))
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? SUBJECTS : SUBJECTS.toReversed()) {
      const outcome = await contend(bundle.path(CONTENDER), { subject, workMs }, processes, lastsMs)
      outcomes.get(subject)?.push(outcome)
    }
  }
  const ours = outcomes.get(OURS) as Outcome[]
  const name = `SQLite, ${processes} processes, ${workMs} ms of work`
  const rows: Row[] = []
  const targets: Target[] = []
  for (const [subject, theirs] of outcomes) {
    const rate = median(ours.map((own, index) => own.perSecond / (theirs[index] as Outcome).perSecond))
    rows.push({ workload: name, subject, figures: { ...figuresOf(theirs), 'holdfast, times this': rate } })
    if (subject !== OURS) targets.push(...targetsOf(name, subject, figuresOf(ours), figuresOf(theirs)))
  }
  const overlaps = [...outcomes.values()].flat().reduce((sum, outcome) => sum + outcome.overlaps, 0)
  return { rows, targets, overlaps }
}

/** A hand-off is seen from the key, a wait from whoever asks: a lock that starves others may have short hand-offs. */
function targetsOf(workload: string, subject: string, ours: Figures, theirs: Figures): Target[] {
  const shorter = (['hand-off p99 ms', 'wait p99 ms'] as const).map((figure) => ({
    what: `${workload}: ${figure}, shorter than ${subject} by`,
    value: theirs[figure] / ours[figure],
    bound: { atLeast: 10 },
  }))
  const rate = {
    what: `${workload}: acquisitions per second, times ${subject}`,
    value: ours['per second'] / theirs['per second'],
    bound: { atLeast: 20 },
  }
  return [rate, ...shorter]
}

function figuresOf(outcomes: readonly Outcome[]) {
  const handOffsMs = outcomes.flatMap((outcome) => outcome.handOffsMs)
  const waitsMs = outcomes.flatMap((outcome) => outcome.waitsMs)
  return {
    'per second': median(outcomes.map((outcome) => outcome.perSecond)),
    'hand-off p50 ms': quantile(handOffsMs, 0.5),
    'hand-off p99 ms': quantile(handOffsMs, 0.99),
    'wait p50 ms': quantile(waitsMs, 0.5),
    'wait p99 ms': quantile(waitsMs, 0.99),
    'crossing %': 100 * median(outcomes.map((outcome) => outcome.crossing)),
    "fairness (Jain's)": median(outcomes.map((outcome) => outcome.fairness)),
  }
}

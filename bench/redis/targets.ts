import { olderTargets } from '../older.ts'
import type { Row, Target } from '../result.ts'
import { entryOf, OURS, OURS_BACKGROUND } from './catalogue.ts'
import { PAIR } from './limit.ts'
import { NAMES } from './workloads.ts'

type Bound = Target['bound']

const MANY_KEYS: ReadonlySet<string> = new Set([NAMES.hundred, NAMES.thousand])

/** The targets that these rows can judge. */
export function targetsOf(rows: readonly Row[]): Target[] {
  const ours = (workload: string, figure: string, bound: Bound, subject = OURS): Target[] =>
    judged(
      `${workload}: ${figure}${subject === OURS ? '' : ` (${subject})`}`,
      value(rows, workload, subject, figure),
      bound,
    )
  const toBest = (workload: string, figure: string, part: number): Target[] =>
    judged(
      `${workload}: ${figure}, as a part of the best Redis peer's`,
      quotient(value(rows, workload, OURS, figure), bestPeer(rows, workload, figure)),
      { atMost: part },
    )
  return [
    ...ours(NAMES.sequential, 'times raw', { atLeast: 0.88 }),
    ...ours(NAMES.sequential, 'times raw', { atLeast: 1.25 }, OURS_BACKGROUND),
    ...ours(NAMES.hundred, 'times raw', { atLeast: 2 }),
    ...ours(NAMES.thousand, 'times raw', { atLeast: 2 }),
    ...judged(
      `${NAMES.thousand}: per second, as a part of the server's limit`,
      quotient(value(rows, NAMES.thousand, OURS, 'per second'), value(rows, NAMES.limit, PAIR, 'per second')),
      { atLeast: 0.7 },
    ),
    ...ours(NAMES.waiters, 'times raw', { atLeast: 20 }),
    ...ours(NAMES.waiters, "fairness (Jain's)", { atLeast: 0.99 }),
    ...ours(NAMES.waiters, 'commands', { atMost: 0.15 }),
    ...ours(NAMES.crowds, 'times raw', { atLeast: 1.4 }),
    ...toBest(NAMES.crowds, 'wait p99 ms', 1 / 4),
    ...ours(NAMES.crowds, 'commands', { atMost: 0.6 }),
    ...ours(NAMES.crowds, "fairness (Jain's)", { atLeast: 0.99 }),
    ...ours(NAMES.loners, 'times raw', { atLeast: 0.95 }),
    ...toBest(NAMES.loners, 'wait p99 ms', 1 / 6),
    ...ours(NAMES.loners, 'commands', { atMost: 3 }),
    ...toBest(NAMES.leases, 'CPU ms/s above idle', 1 / 4),
    ...ours(NAMES.leases, 'calls per second', { atMost: 25 }),
    ...ours(NAMES.leases, 'loop delay p99 ms', { atMost: 3 }),
    ...ours(NAMES.leases, 'lost', { atMost: 0 }),
    // With many keys a readable state may cost some of what the packed one gained: the targets against the bare client stand above.
    ...olderTargets(
      rows.filter(({ workload }) => !MANY_KEYS.has(workload)),
      OURS,
    ),
  ]
}

function judged(what: string, value: number | undefined, bound: Bound): Target[] {
  return value === undefined ? [] : [{ what, value, bound }]
}

function quotient(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other
}

function value(rows: readonly Row[], workload: string, subject: string, figure: string): number | undefined {
  return rows.find((row) => row.workload === workload && row.subject === subject)?.figures[figure]
}

/** The smallest of those that wait in Redis and never give up; undefined when none was measured. */
function bestPeer(rows: readonly Row[], workload: string, figure: string): number | undefined {
  const theirs = rows
    .filter((row) => row.workload === workload && isRedisPeer(row.subject))
    .map(({ figures }) => figures[figure] ?? Number.NaN)
  return theirs.length === 0 ? undefined : Math.min(...theirs)
}

function isRedisPeer(subject: string): boolean {
  const { role, sends, only } = entryOf(subject)
  return role === 'peer' && sends.length > 0 && only === undefined
}

import { OLDER_NAMES, olderTargets } from '../older.ts'
import type { Row, Target } from '../result.ts'
import { ALL_WELL, BARE, OURS } from './subjects.ts'

/** The workloads, by the name of their part. */
export const WORKLOADS = {
  sequential: 'five servers, one lock after the other',
  keys: 'five servers, 100 keys at once',
  stopped: 'one of five servers stopped, one lock after the other',
  killed: 'one of five servers killed, one lock after the other',
} as const

/** The targets: faster than the best of the others, and nearly as fast without one server. */
export function targetsOf(rows: readonly Row[]): Target[] {
  const rowOf = (workload: string, subject: string): Row['figures'] | undefined =>
    rows.find((row) => row.workload === workload && row.subject === subject)?.figures
  /** Nothing when no other was measured. */
  const toBest = (workload: string, atLeast: number): Target[] => {
    const others = rows.filter(
      (row) => row.workload === workload && ![OURS, BARE, ALL_WELL, ...OLDER_NAMES].includes(row.subject),
    )
    const ratios = others.map(({ figures }) => figures['holdfast, times this'] ?? Number.NaN)
    const what = `${workload}: times the best of the others`
    return ratios.length === 0 ? [] : [{ what, value: Math.min(...ratios), bound: { atLeast } }]
  }
  /** Beside the same with all servers, round by round: a slower moment of the machine is no failure of a server. */
  const toWell = (workload: string): Target[] => {
    const [own, whole] = [rowOf(workload, OURS), rowOf(workload, ALL_WELL)]
    if (own === undefined || whole === undefined) return []
    const [rate, p99] = [whole['holdfast, times this'], (own['p99 ms'] ?? 0) / (whole['p99 ms'] ?? 0)]
    return [
      { what: `${workload}: of the rate when all are well`, value: rate ?? 0, bound: { atLeast: 0.9 } },
      { what: `${workload}: p99, times that when all are well`, value: p99, bound: { atMost: 2 } },
    ]
  }
  return [
    ...toBest(WORKLOADS.sequential, 1),
    ...toBest(WORKLOADS.keys, 2.5),
    ...toWell(WORKLOADS.stopped),
    ...toWell(WORKLOADS.killed),
    ...olderTargets(rows, OURS),
  ]
}

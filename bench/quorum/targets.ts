import type { Row, Target } from '../result.ts'
import { OURS } from './subjects.ts'

const WELL = 'five servers, one lock after the other'
const MANY = 'five servers, 100 keys at once'

/** What must hold: faster than the best of the others, and nearly as fast when one server is away. */
export function targetsOf(rows: readonly Row[]): Target[] {
  const figureOf = (workload: string, subject: string, figure: string): number =>
    rows.find((row) => row.workload === workload && row.subject === subject)?.figures[figure] ?? Number.NaN
  /** Nothing when no other was measured. */
  const toBest = (workload: string, atLeast: number): Target[] => {
    const others = rows.filter((row) => row.workload === workload && row.subject !== OURS)
    const ratios = others.map(({ figures }) => figures['holdfast, times this'] ?? Number.NaN)
    const what = `${workload}: times the best of the others`
    return ratios.length === 0 ? [] : [{ what, value: Math.min(...ratios), bound: { atLeast } }]
  }
  const ill = [...new Set(rows.map(({ workload }) => workload))].filter((workload) =>
    workload.startsWith('one of'),
  )
  return [
    ...toBest(WELL, 1),
    ...toBest(MANY, 2.5),
    ...ill.flatMap((workload): Target[] => {
      const part = (figure: string) => figureOf(workload, OURS, figure) / figureOf(WELL, OURS, figure)
      return [
        {
          what: `${workload}: of the rate when all are well`,
          value: part('per second'),
          bound: { atLeast: 0.9 },
        },
        {
          what: `${workload}: p99, times that when all are well`,
          value: part('p99 ms'),
          bound: { atMost: 2 },
        },
      ]
    }),
  ]
}

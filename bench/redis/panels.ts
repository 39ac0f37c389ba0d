import type { Bar, Panel } from '../plot.ts'
import type { Row } from '../result.ts'
import { entryOf } from './catalogue.ts'
import { NAMES } from './workloads.ts'

const RATIO = 'rate, times the raw ioredis client: longer is better'

/** The most important panels come first. */
const WANTED: readonly { workload: string; title: string; unit: string; figure: string }[] = [
  { workload: NAMES.sequential, title: 'One lock after the other', unit: RATIO, figure: 'times raw' },
  { workload: NAMES.hundred, title: '100 keys at once', unit: RATIO, figure: 'times raw' },
  { workload: NAMES.thousand, title: '1,000 keys at once', unit: RATIO, figure: 'times raw' },
  { workload: NAMES.waiters, title: '50 waiters of one process', unit: RATIO, figure: 'times raw' },
  {
    workload: NAMES.crowds,
    title: '8 processes × 4 waiters, 1 ms of work',
    unit: 'wait p99, ms: shorter is better',
    figure: 'wait p99 ms',
  },
  {
    workload: NAMES.leases,
    title: '10,000 leases kept',
    unit: 'CPU of the process, ms per second: shorter is better',
    figure: 'CPU ms/s above idle',
  },
]

export function panelsOf(rows: readonly Row[]): Panel[] {
  return WANTED.flatMap(({ workload, title, unit, figure }) => {
    const bars = rows.filter((row) => row.workload === workload).flatMap(barsOf(figure))
    return bars.length === 0 ? [] : [{ title, unit, bars }]
  })
}

/** One bar, and none for what is no lock. */
function barsOf(figure: string): (row: Row) => Bar[] {
  return ({ subject, figures }) => {
    const { role } = entryOf(subject)
    if (role === 'limit') return []
    const name = subject.replace(/ \(its own broker\)/, '').replace(' release', '')
    return [{ name, value: figures[figure] ?? Number.NaN, kind: role === 'older' ? 'peer' : role }]
  }
}

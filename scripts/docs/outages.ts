import { CALLS } from '../../lab/outages/calls/index.ts'
import { RECOVERY } from '../../lab/outages/calls/recovery.ts'
import { commandCalls } from '../../lab/outages/commands.ts'
import { kept, SUMMARY_TITLES, summaryOf, tableOf } from '../../lab/outages/report.ts'
import { WORLDS } from '../../lab/outages/stores/index.ts'
import { table } from './table.ts'

/** The time within which each call must end. */
export function bounds(): string {
  const rows = [...CALLS, ...commandCalls(''), RECOVERY].map(({ name, bound, boundMs }) => [
    name,
    bound,
    `${boundMs / 1000} s`,
  ])
  return table(['call', 'ends within', 'in this table'], rows)
}

/** All faults in one table, and every call of each store. */
export function outages(): string {
  const results = kept(Object.keys(WORLDS))
  if (results.length === 0) return 'No results are kept yet.'
  const stores = results.map((result) => {
    const [titles = [], ...rows] = tableOf(result)
    return `### ${result.store}\n\n${table(titles, rows)}`
  })
  return [table(SUMMARY_TITLES, results.flatMap(summaryOf)), ...stores].join('\n\n')
}

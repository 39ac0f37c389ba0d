import { STORES } from '../../lab/faults/expectations.ts'
import {
  expectationsOf,
  faultsOf,
  recoveryBoundMs,
  type Total,
  totals,
} from '../../lab/faults/report/results.ts'
import { table } from './table.ts'

/** All kept runs of each store. */
export function results(): string {
  const columns = [
    ...['store', 'runs', 'minutes', 'operations', 'grants', 'unknown outcomes', 'faults', 'kinds'],
    ...['class A', 'class B, refused', 'class B, accepted', 'class C', 'stale writes', 'lost wake-ups'],
    ...['out of order', 'worst recovery', 'violations'],
  ]
  const rows = totals().map((total) => [
    `\`${total.store}\``,
    ...[total.runs, total.minutes, total.operations, total.grants, total.unknown].map(String),
    ...[faultsOf(total), Object.keys(total.faults).length, total.classA].map(String),
    ...[total.classB.refused, total.classB.accepted, total.classC, total.staleWrites].map(String),
    ...[total.lostWakeUps, total.inversions].map(String),
    total.runs === 0 ? '–' : `${total.worstRecoveryMs} ms`,
    String(total.violations),
  ])
  const kinds = totals().map(
    (total) =>
      `- \`${total.store}\`: ${Object.entries(total.faults)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}`,
  )
  return `${table(columns, rows)}\n\nFaults by kind:\n\n${kinds.join('\n')}`
}

/** The expectations of each store under faults, and the findings of the kept runs. */
export function expectations(): string {
  const columns = [
    'store',
    'a second holder may come in',
    'line',
    'free again after a fault',
    'shown by the kept runs',
  ]
  const shown = new Map(totals().map((total) => [total.store, total]))
  const rows = STORES.map((store) => {
    const { weaknesses, fifo } = expectationsOf(store)
    const announced = Object.entries(weaknesses).map(([kind, why]) => `${kind}: ${why}`)
    return [
      `\`${store}\``,
      announced.length === 0 ? 'never' : announced.join('; '),
      fifo ? 'in order' : 'a race',
      `within ${recoveryBoundMs(store) / 1000} s at a ttl of 2 s`,
      shownBy(shown.get(store)),
    ]
  })
  return table(columns, rows)
}

function shownBy(total: Total | undefined): string {
  if (total === undefined || total.runs === 0) return 'nothing yet'
  return `${total.minutes} minutes, ${faultsOf(total)} faults of ${Object.keys(total.faults).length} kinds, ${total.grants} grants: class A ${total.classA}, class C ${total.classC}, stale writes ${total.staleWrites}, worst recovery ${(total.worstRecoveryMs / 1000).toFixed(1)} s`
}

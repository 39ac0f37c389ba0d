import { type DeadlockStep, quote } from '../../errors.ts'
import { type Finding, finding } from './findings.ts'
import { span, word } from './words.ts'

type Cycle = readonly DeadlockStep[]

/** The members of a deadlock, with the keys of the store. */
export interface DoctorCycles {
  readonly proven: readonly Cycle[]
  /** Between processes, at least one of which does not publish, or not again, which of its tasks waits. */
  readonly likely: readonly Cycle[]
}

/** The deadlocks that have a key with that prefix. */
export function examineCycles({ proven, likely }: DoctorCycles, prefix: string): Finding[] {
  const isMeant = (cycle: Cycle): boolean =>
    cycle.some(({ waitsFor, holds }) => [waitsFor, ...holds].some((key) => key.startsWith(prefix)))
  return [
    ...proven.filter(isMeant).map((cycle) => deadlock(cycle, '', 'critical')),
    ...likely
      .filter(isMeant)
      .map((cycle) =>
        deadlock(cycle, '; not proven, because not all of them publish what they wait for', 'warning'),
      ),
  ]
}

function deadlock(cycle: Cycle, remark: string, severity: 'critical' | 'warning'): Finding {
  const [first] = cycle
  const key = first?.waitsFor ?? ''
  const certainty = severity === 'critical' ? '' : 'perhaps: '
  return finding(
    'DEADLOCK',
    key,
    `${certainty}${cycle.map(memberOf).join('; ')}${remark}`,
    `holdfast evict ${word(key)}   # one has to let go; in the programs: locks.all([…]), or onDeadlock: 'abort'`,
    severity,
  )
}

function memberOf({ label, actor, holds, waitsFor, waitedMs }: DeadlockStep): string {
  const who = actor === null ? label : `${label} (${actor})`
  const has = holds.length === 0 ? 'is before it in the queue' : `holds ${holds.map(quote).join(', ')}`
  return `${who} ${has} and has waited for ${quote(waitsFor)} for ${span(waitedMs)}`
}

import type { UnseenFact } from '../../core/facts.ts'
import type { Traits } from '../../core/store.ts'
import { type DeadlockStep, quote } from '../../errors.ts'
import type { KeyView } from '../../model/index.ts'
import { type Finding, finding } from './findings.ts'
import { span, word } from './words.ts'

type Cycle = readonly DeadlockStep[]

/** Who waits for whom in a cycle, with the keys of the store. */
export interface Cycles {
  readonly proven: readonly Cycle[]
  /** Between processes, at least one of which does not publish, or not again, which of its tasks waits. */
  readonly likely: readonly Cycle[]
}

/** Holders and waiters of which nobody can know what else they wait for or hold. */
export interface Untold {
  holders: number
  waiters: number
}

/** The deadlocks that have a key with that prefix. */
export function examineCycles({ proven, likely }: Cycles, prefix: string): Finding[] {
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

/** Adds the claims of one key that tell nothing. */
export function countUntold(untold: Untold, { holders, line }: KeyView, { records }: Traits): void {
  // Without records a process can publish nothing, so only a name that was given tells.
  const isUntold = ({ actor }: { readonly actor: string | null }) =>
    actor === null || (!records && actor.startsWith('@'))
  untold.holders += holders.filter(isUntold).length
  untold.waiters += line.filter(isUntold).length
}

export function unseenCycles({ holders, waiters }: Untold, { name, records }: Traits): UnseenFact[] {
  if (holders + waiters === 0) return []
  const why = records
    ? 'their programs set neither `onDeadlock` nor `actor`'
    : `the ${name} store has no records to publish them in, so only the option \`actor\` tells`
  const claims = `${holders} ${holders === 1 ? 'holder' : 'holders'} and ${waiters} ${waiters === 1 ? 'waiter' : 'waiters'}`
  return [{ kind: 'unseen', what: `deadlocks among ${claims}`, why }]
}

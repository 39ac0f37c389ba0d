import { byKey, type Fault, type Granted, grantedOf, type Story } from './story.ts'
import type { Overlap } from './violation.ts'

export interface OverlapRules {
  readonly ttlMs: number
  readonly permits: number
  /** Kinds of faults after which the store may have forgotten or shortened what it granted, as it says itself. */
  readonly weaknesses: readonly string[]
}

/** Valid leases that exclude each other and were valid at once. Visits come in the order of their grants. */
export function overlaps(story: Story, rules: OverlapRules): Overlap[] {
  const found: Overlap[] = []
  for (const [key, visits] of byKey(grantedOf(story.visits))) {
    let inside: Granted[] = []
    for (const visit of visits.sort((one, other) => one.settledMs - other.settledMs)) {
      if (visit.validUntilMs <= visit.settledMs) continue
      const atMs = visit.settledMs
      inside = inside.filter(({ validUntilMs }) => validUntilMs > atMs)
      const others = inside.filter((other) => !compatible(visit, other))
      const used = weightOf(visit) + inside.reduce((sum, other) => sum + weightOf(other), 0)
      inside.push(visit)
      const tooMany = others.length === 0 && used > rules.permits
      if (others.length === 0 && !tooMany) continue
      const party = [...(tooMany ? inside.filter((other) => other !== visit) : others), visit]
      const what = tooMany ? `${used} permits of ${rules.permits} in use at once` : 'two valid leases at once'
      found.push({
        check: 'overlap',
        class: story.faults.some((fault) => explains(fault, atMs, rules)) ? 'C' : 'A',
        atMs,
        key,
        what: `${what}: ${party.map(told).join('; ')}`,
        ops: party.map(({ op }) => op),
      })
    }
  }
  return found
}

/** A hold that the store forgot in a fault was granted before it, and is valid for a ttl at most. */
export function explains(fault: Fault, atMs: number, rules: OverlapRules): boolean {
  return rules.weaknesses.includes(fault.kind) && fault.fromMs <= atMs && atMs <= fault.toMs + rules.ttlMs
}

export function compatible(one: Pick<Granted, 'mode'>, other: Pick<Granted, 'mode'>): boolean {
  return one.mode !== 'exclusive' && other.mode !== 'exclusive'
}

function weightOf({ mode, weight }: Granted): number {
  return mode === 'permits' ? weight : 0
}

export function told({ op, mode, token, settledMs, validUntilMs, endedBy }: Granted): string {
  return `${op} ${mode} token ${token} from ${settledMs.toFixed(1)} to ${validUntilMs.toFixed(1)} (${endedBy})`
}

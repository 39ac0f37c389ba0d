import { type Granted, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

export interface Writes {
  /** Writes of holders that had outlived their own deadline when the resource got them: class B. */
  readonly late: { readonly refused: number; readonly accepted: number }
  /** Accepted although somebody who came later had been there: the fence failed. */
  readonly stale: readonly Violation[]
}

/** Judged by the order in which holders came, not by their tokens: those are what is judged. */
export function writes(story: Story): Writes {
  const visits = new Map(grantedOf(story.visits).map((visit) => [visit.op, visit]))
  const latest = new Map<string, Granted>()
  const late = { refused: 0, accepted: 0 }
  const stale: Violation[] = []
  for (const { atMs, op, key, accepted } of story.writes) {
    const visit = visits.get(op)
    if (visit === undefined) continue
    if (atMs > visit.validUntilMs) late[accepted ? 'accepted' : 'refused']++
    if (!accepted) continue
    const newer = latest.get(key)
    if (newer !== undefined && newer.askedMs > visit.settledMs) {
      const what = `a write of ${op} (token ${visit.token}) was accepted after one of ${newer.op} (token ${newer.token}), who came later`
      stale.push({ check: 'stale write', atMs, key, what, ops: [op, newer.op] })
    }
    if (newer === undefined || visit.askedMs > newer.askedMs) latest.set(key, visit)
  }
  return { late, stale }
}

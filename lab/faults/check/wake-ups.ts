import type { FaultWindows } from './fault-windows.ts'
import { byKey, type Granted, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/** Without a fault, a waiter is served soon after an exclusive holder lets go. */
export function wakeUps(story: Story, windows: FaultWindows, boundMs: number, clearMs: number): Violation[] {
  const found: Violation[] = []
  for (const [key, visits] of byKey(story.visits.filter(({ mode }) => mode === 'exclusive'))) {
    const granted = grantedOf(visits).sort((one, other) => one.settledMs - other.settledMs)
    for (const [index, { op, releasedMs, releaseOutcome }] of granted.entries()) {
      if (releasedMs === null || releaseOutcome !== 'released') continue
      const next: Granted | undefined = granted[index + 1]
      const nextMs = next?.settledMs ?? story.toMs
      const tookMs = nextMs - releasedMs - windows.stalledMs(releasedMs, nextMs)
      if (tookMs <= boundMs || !windows.calm(releasedMs, nextMs, clearMs)) continue
      const waiter = visits.find(
        (visit) =>
          (visit.waitingMs ?? Number.POSITIVE_INFINITY) < releasedMs && (visit.settledMs ?? nextMs) >= nextMs,
      )
      if (waiter === undefined) continue
      const what = `${waiter.op} was in the line when ${op} let go, and nobody was served for ${Math.round(tookMs)} ms`
      found.push({ check: 'wake-up', atMs: releasedMs, key, what, ops: [op, waiter.op] })
    }
  }
  return found
}

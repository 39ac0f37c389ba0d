import type { FaultWindows } from './fault-windows.ts'
import { byKey, type Granted, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/** Without a fault, nobody who came after somebody was seen in the line is served before them. */
export function order(story: Story, windows: FaultWindows, clearMs: number): Violation[] {
  const found: Violation[] = []
  // Inside a process a key may pass from hand to hand: that is announced. Only lines of single claims are judged.
  const lines = byKey(story.visits.filter(({ mode, handover }) => mode === 'exclusive' && !handover))
  for (const [key, visits] of lines) {
    const granted = grantedOf(visits).sort((one, other) => one.settledMs - other.settledMs)
    let open: Granted[] = []
    for (const visit of [...granted].sort((one, other) => one.askedMs - other.askedMs)) {
      open = open.filter(({ settledMs }) => settledMs > visit.askedMs)
      for (const earlier of open) {
        const inLine = earlier.waitingMs !== null && earlier.waitingMs < visit.askedMs
        if (!inLine || earlier.settledMs <= visit.settledMs) continue
        if (!windows.calm(earlier.askedMs, earlier.settledMs, clearMs)) continue
        if (windows.stalledMs(earlier.askedMs, earlier.settledMs) > 0) continue
        const what = `${visit.op} came after ${earlier.op} was in the line, and was served before it`
        found.push({ check: 'order', atMs: visit.settledMs, key, what, ops: [earlier.op, visit.op] })
      }
      open.push(visit)
    }
  }
  return found
}

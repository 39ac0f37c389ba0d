import type { FaultWindows } from './fault-windows.ts'
import type { Story } from './story.ts'
import type { Violation } from './violation.ts'

/** Every call comes back: by its wait, and by the time that one call to the store may take. */
export function settled(story: Story, windows: FaultWindows, slackMs: number): Violation[] {
  const paused = story.faults.filter(({ kind }) => kind.startsWith('worker'))
  return story.visits.flatMap((visit): Violation[] => {
    const { op, key, worker, askedMs, waitMs } = visit
    const endMs = visit.settledMs ?? story.toMs
    // A process that stood still comes back later by that long.
    const stoodMs = paused
      .filter(({ target }) => worker.startsWith(`${target}.`))
      .reduce(
        (sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, endMs) - Math.max(fromMs, askedMs)),
        0,
      )
    const tookMs = endMs - askedMs - stoodMs - windows.stalledMs(askedMs, endMs)
    if (tookMs <= waitMs + slackMs) return []
    const what = `${op} asked for at most ${waitMs} ms and ${visit.settledMs === null ? 'has not heard' : 'heard'} after ${Math.round(tookMs)} ms`
    return [{ check: 'settled', atMs: endMs, key, what, ops: [op] }]
  })
}

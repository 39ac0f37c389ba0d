import type { FaultWindows } from './fault-windows.ts'
import { byWorker, type Story, type Visit } from './story.ts'
import type { Violation } from './violation.ts'

/** Nobody stays cut off: in so long a calm the store answers every process that asks it, whatever the answer is. */
export function cutOff(story: Story, windows: FaultWindows, boundMs: number): Violation[] {
  return [...byWorker(story.visits)].flatMap(([worker, visits]) =>
    silences(visits, story.toMs).flatMap(({ op, key, fromMs, toMs }): Violation[] => {
      const calmMs = windows.calmMs(fromMs, toMs)
      if (calmMs <= boundMs) return []
      const what = `${worker} asked from ${op} on and had no answer for ${Math.round(calmMs)} ms of calm`
      return [{ check: 'cut off', atMs: toMs, key, what, ops: [op] }]
    }),
  )
}

interface Silence {
  /** The first request. */
  readonly op: string
  readonly key: string
  readonly fromMs: number
  readonly toMs: number
}

/** The times in which one process asked and nothing of what it asked was answered. */
function silences(visits: readonly Visit[], endMs: number): Silence[] {
  const found: Silence[] = []
  let first: Visit | null = null
  let toMs = 0
  const end = (atMs: number): void => {
    if (first !== null) found.push({ op: first.op, key: first.key, fromMs: first.askedMs, toMs: atMs })
    first = null
  }
  const moments = visits.flatMap((visit) => [
    { atMs: visit.askedMs, visit, asks: true },
    { atMs: visit.settledMs ?? endMs, visit, asks: false },
  ])
  for (const { atMs, visit, asks } of moments.sort((one, other) => one.atMs - other.atMs)) {
    toMs = atMs
    if (asks) first ??= visit
    else if (visit.outcome === 'granted' || visit.outcome === 'refused') end(atMs)
  }
  end(toMs)
  return found
}

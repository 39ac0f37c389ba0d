import type { History, Overlap, TimeSpan } from './history.ts'

/** When a process believed to hold the key, whatever the server thought. */
export function insideOf(history: History, actor: string, endMs: number): TimeSpan | null {
  const fromMs = history.when(actor, 'took')
  if (fromMs === null) return null
  const since = history.find(actor, 'lost')?.sinceMs
  const toMs = since ?? history.when(actor, 'left', 'killed') ?? endMs
  return { fromMs, toMs }
}

export function pausedOf(history: History, actor: string, endMs: number): TimeSpan | null {
  const fromMs = history.when(actor, 'paused')
  return fromMs === null ? null : { fromMs, toMs: history.when(actor, 'woken') ?? endMs }
}

/** When a process was at work inside: the time in which it stood paused does no harm. */
export function activeOf(history: History, actor: string, endMs: number): TimeSpan[] {
  const inside = insideOf(history, actor, endMs)
  const paused = pausedOf(history, actor, endMs)
  if (inside === null) return []
  if (paused === null) return [inside]
  return [
    { fromMs: inside.fromMs, toMs: Math.min(inside.toMs, paused.fromMs) },
    { fromMs: Math.max(inside.fromMs, paused.toMs), toMs: inside.toMs },
  ].filter(({ fromMs, toMs }) => toMs > fromMs)
}

/** Where two processes were at work inside at the same time. */
export function overlapsOf(history: History, endMs: number): Overlap[] {
  const { actors } = history
  return actors.flatMap((one, at) =>
    actors.slice(at + 1).flatMap((other) =>
      activeOf(history, one, endMs).flatMap((left) =>
        activeOf(history, other, endMs).flatMap((right) => {
          const fromMs = Math.max(left.fromMs, right.fromMs)
          const toMs = Math.min(left.toMs, right.toMs)
          return toMs > fromMs ? [{ actors: [one, other] as const, fromMs, toMs }] : []
        }),
      ),
    ),
  )
}

/** Whose key was deleted by a process that was not its holder any more. */
export function robbedBy(history: History, actor: string): string | null {
  const release = history.find(actor, 'released')
  if (release?.command !== 'DEL lock' || release.reply !== '1') return null
  const took = history.when(actor, 'took') ?? 0
  const victim = history.events.find(({ kind, actor: other, atMs }) => {
    if (kind !== 'took' || other === actor || atMs < took || atMs > release.atMs) return false
    const left = history.when(other, 'left', 'killed')
    return left === null || left > release.atMs
  })
  return victim?.actor ?? null
}

import type { FaultWindows } from './fault-windows.ts'
import { byKey, type Granted, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

export interface Recovery {
  /** The longest that a key was wanted and held by nobody . */
  readonly worstMs: number
  readonly late: readonly Violation[]
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** Without a fault, a key that somebody wants and nobody holds by their own account is granted in time. */
export function recovery(story: Story, windows: FaultWindows, boundMs: number): Recovery {
  let worstMs = 0
  const late: Violation[] = []
  const granted = byKey(grantedOf(story.visits))
  const calms = windows.calms(story)
  for (const [key, asked] of byKey(story.visits)) {
    for (const calm of calms) {
      for (const free of freeSpans(granted.get(key) ?? [], calm)) {
        const tookMs = wantedMs(asked, free.fromMs, free.toMs) - windows.stalledMs(free.fromMs, free.toMs)
        // The next fault came first: nobody knows how long the recovery would have taken.
        if (free.toMs === calm.toMs && tookMs <= boundMs) continue
        worstMs = Math.max(worstMs, tookMs)
        if (tookMs <= boundMs) continue
        const what = `nobody had it for ${Math.round(tookMs)} ms of calm, although it was wanted`
        late.push({ check: 'recovery', atMs: free.toMs, key, what, ops: [] })
      }
    }
  }
  return { worstMs, late }
}

/** The parts of a calm in which no holder of the key trusts its lease. */
function freeSpans(granted: readonly Granted[], calm: Span): Span[] {
  const found: Span[] = []
  let atMs = calm.fromMs
  for (const { settledMs, validUntilMs } of [...granted].sort(
    (one, other) => one.settledMs - other.settledMs,
  )) {
    if (validUntilMs <= calm.fromMs || settledMs >= calm.toMs) continue
    if (settledMs > atMs) found.push({ fromMs: atMs, toMs: settledMs })
    atMs = Math.max(atMs, validUntilMs)
  }
  if (atMs < calm.toMs) found.push({ fromMs: atMs, toMs: calm.toMs })
  return found
}

/** For how long of that time somebody waited for the key. */
function wantedMs(
  visits: readonly { readonly askedMs: number; readonly settledMs: number | null }[],
  fromMs: number,
  toMs: number,
): number {
  const waits = visits
    .map(({ askedMs, settledMs }) => [Math.max(askedMs, fromMs), Math.min(settledMs ?? toMs, toMs)] as const)
    .filter(([from, to]) => to > from)
    .sort(([one], [other]) => one - other)
  let sum = 0
  let atMs = fromMs
  for (const [from, to] of waits) {
    sum += Math.max(0, to - Math.max(from, atMs))
    atMs = Math.max(atMs, to)
  }
  return sum
}

import { byKey, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'
import type { Weather } from './weather.ts'

export interface Recovery {
  /** The longest that a key which somebody wanted was granted to nobody after a fault was over, or its holder had died. */
  readonly worstMs: number
  readonly late: readonly Violation[]
}

/** After every fault, and after the death of every holder, the key comes back in time. */
export function recovery(story: Story, weather: Weather, boundMs: number): Recovery {
  let worstMs = 0
  const late: Violation[] = []
  const visits = byKey(story.visits)
  for (const [key, granted] of byKey(grantedOf(story.visits))) {
    const grantsMs = granted.map(({ settledMs }) => settledMs).sort((one, other) => one - other)
    const asked = visits.get(key) ?? []
    for (const calm of weather.calms(story)) {
      // Before the first fault there is nothing to recover from.
      if (calm.fromMs === story.fromMs) continue
      const next = grantsMs.find((atMs) => atMs >= calm.fromMs) ?? Number.POSITIVE_INFINITY
      const toMs = Math.min(next, calm.toMs)
      const wanted = wantedMs(asked, calm.fromMs, toMs)
      const tookMs = wanted - weather.stalledMs(calm.fromMs, toMs)
      // The next fault came before this one was over with: how long it would have taken is not known.
      if (next > calm.toMs && tookMs <= boundMs) continue
      worstMs = Math.max(worstMs, tookMs)
      if (tookMs <= boundMs) continue
      const what = `nobody had it for ${Math.round(tookMs)} ms after a fault, although it was wanted`
      late.push({ check: 'recovery', atMs: toMs, key, what, ops: [] })
    }
  }
  return { worstMs, late }
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

/** Counts of durations in steps of the square root of two from a millisecond on; steps without a count are left out. */
export type Times = Record<string, number>

const LAST_STEP = 60

export function addTime(times: Times, milliseconds: number): void {
  const step = Math.min(LAST_STEP, Math.max(0, Math.ceil(2 * Math.log2(Math.max(1, milliseconds)))))
  times[step] = (times[step] ?? 0) + 1
}

export function addAll(times: Times, more: Times): void {
  for (const [step, count] of Object.entries(more)) times[step] = (times[step] ?? 0) + count
}

export function countOf(times: Times): number {
  return Object.values(times).reduce((sum, count) => sum + count, 0)
}

/** Half of every count, so that newer values weigh more. */
export function halved(times: Times): Times {
  const pairs = Object.entries(times).map(([step, count]) => [step, Math.floor(count / 2)] as const)
  return Object.fromEntries(pairs.filter(([, count]) => count > 0))
}

/** The quantile of these times, rounded up to a step; 0 if there are none. */
export function quantileMs(times: Times, part: number): number {
  const rank = part * countOf(times)
  let below = 0
  for (let step = 0; step <= LAST_STEP; step++) {
    below += times[step] ?? 0
    if (below > 0 && below >= rank) return Math.round(2 ** (step / 2))
  }
  return 0
}

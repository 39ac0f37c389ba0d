import { ENOUGH_HOLDS, type Usual } from './context.ts'
import { type Finding, finding } from './findings.ts'
import { argument, span } from './words.ts'

/** Compares the times to live with the work, by the published habits. */
export function examineTimes(usuals: readonly Usual[], prefix: string): Finding[] {
  return usuals.flatMap(({ pattern, holds, workP99Ms, ttlMs, expired }) => {
    if (holds < ENOUGH_HOLDS || ttlMs === 0 || !pattern.startsWith(prefix)) return []
    // One expiry in a hundred says the same as the times.
    if (workP99Ms <= ttlMs && expired * 100 < holds) return []
    const lost =
      expired === 0
        ? 'none was lost, because they are renewed'
        : `${expired} ran out before the work was done`
    return [
      finding(
        'TTL_TOO_SHORT',
        pattern,
        `99 of 100 holds take up to ${span(workP99Ms)}, and the ttl is ${span(ttlMs)} (${holds} seen); ${lost}`,
        `acquire(key, { ttl: '${argument(2 * Math.max(workP99Ms, ttlMs))}' })   # twice what 99 of 100 take`,
        // With renewal, a ttl shorter than the work is intended.
        expired === 0 ? 'note' : 'warning',
      ),
    ]
  })
}

import { explains, type OverlapRules } from './overlaps.ts'
import type { Granted, Story } from './story.ts'

/** The store gives a token to each hold; local handovers get the tokens that follow. */
const TOKENS_PER_HOLD = 256n

/** The token that the store gave to the hold. */
export function storeTokenOf(token: bigint): bigint {
  return token - (token % TOKENS_PER_HOLD)
}

/**
 * Of the visits to one key, those to which a process handed on a hold that the store had forgotten by an announced weakness, before the
 * process could know. The store granted nothing then: it is the old hold still, and so are its tokens, which the fence refuses.
 */
export function handedOnForgotten(
  visits: readonly Granted[],
  story: Story,
  rules: OverlapRules,
): ReadonlySet<string> {
  const byToken = new Map(visits.map((visit) => [visit.token, visit]))
  const found = new Set<string>()
  for (const { op, worker, token, settledMs } of visits) {
    if (token === null || token === storeTokenOf(token)) continue
    const first = byToken.get(storeTokenOf(token))
    if (first === undefined || first.worker !== worker) continue
    if (story.faults.some((fault) => first.askedMs <= fault.toMs && explains(fault, settledMs, rules)))
      found.add(op)
  }
  return found
}

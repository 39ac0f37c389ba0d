import type { Claim, Rules } from '../../model/index.ts'

/** The scripts repeat these numbers. */
export const RULES: Rules = { offerMs: 1000, keepSeqMs: 100_000_000, mostOffers: 50 }

/** A script blocks the whole server, so a call is bounded. */
export const CLAIMS_PER_CALL = 100

/** Small enough that client and server work at the same time; 50 was the fastest of 20 to 125 with 100 and with 1,000 claims. */
export const CLAIMS_PER_TURN = 50

/** Splits the claims of a call. A group is never split, because it is granted as a whole. */
export function batchesOf(claims: readonly Claim[], most: number): readonly (readonly Claim[])[] {
  if (claims.length <= most) return [claims]
  const batches: Claim[][] = []
  for (let first = 0; first < claims.length; ) {
    let next = Math.min(first + most, claims.length)
    const group = claims[next]?.group ?? null
    if (group !== null) {
      let start = next
      while (start > first && claims[start - 1]?.group === group) start--
      if (start > first) next = start
      else while (claims[next]?.group === group) next++
    }
    batches.push(claims.slice(first, next))
    first = next
  }
  return batches
}

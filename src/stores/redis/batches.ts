import type { Claim } from '../../model/index.ts'

/** The claims of one call, in parts that are not too long. A group is never cut: it is granted as a whole. */
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

import type { Claim } from '../../model/index.ts'

export interface Numbered {
  readonly claim: Claim
  readonly index: number
}

/**
 * Claims in the order in which they are sent: wave after wave, the second claim for a key in the second wave, so that the order of
 * the batch is the order of the queue. A wave consists of calls for at most `most` keys each.
 */
export function wavesOf(claims: readonly Numbered[], most: number): Numbered[][][] {
  const waves: Numbered[][][] = []
  const ofKey = new Map<string, number>()
  for (const each of claims) {
    const { key } = each.claim
    const nth = ofKey.get(key) ?? 0
    ofKey.set(key, nth + 1)
    waves[nth] ??= [[]]
    const calls = waves[nth]
    const last = calls.at(-1)
    if (last === undefined || last.length === most) calls.push([each])
    else last.push(each)
  }
  return waves
}

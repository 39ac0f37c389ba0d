import { seqOf } from '../../../src/model/index.ts'
import { handedOnForgotten } from './forgotten.ts'
import type { OverlapRules } from './overlaps.ts'
import { byKey, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/**
 * Tokens of one key are all different, and a claim that was asked for after another was granted has a higher one. A sharer
 * is above all exclusive holders and above those that its process served from the same grant before.
 */
export function tokens(story: Story, rules: OverlapRules): Violation[] {
  const found: Violation[] = []
  const withToken = grantedOf(story.visits).flatMap((visit) =>
    visit.token === null ? [] : [{ ...visit, token: visit.token }],
  )
  for (const [key, visits] of byKey(withToken)) {
    const seen = new Map<bigint, string>()
    const forgotten = handedOnForgotten(visits, story, rules)
    const granted = [...visits].sort((one, other) => one.settledMs - other.settledMs)
    let next = 0
    let highest: (typeof granted)[number] | null = null
    let exclusive: (typeof granted)[number] | null = null
    const fromGrant = new Map<number, (typeof granted)[number]>()
    for (const visit of visits.sort((one, other) => one.askedMs - other.askedMs)) {
      const { token, op, settledMs: atMs } = visit
      for (; (granted[next]?.settledMs ?? Number.POSITIVE_INFINITY) < visit.askedMs; next++) {
        const earlier = granted[next] as (typeof granted)[number]
        if (highest === null || earlier.token > highest.token) highest = earlier
        if (earlier.mode === 'exclusive' && (exclusive === null || earlier.token > exclusive.token))
          exclusive = earlier
        const last = fromGrant.get(seqOf(earlier.token))
        if (last === undefined || earlier.token > last.token) fromGrant.set(seqOf(earlier.token), earlier)
      }
      const same = seen.get(token)
      if (same !== undefined)
        found.push({
          check: 'tokens',
          atMs,
          key,
          what: `token ${token} twice: ${same} and ${op}`,
          ops: [same, op],
        })
      seen.set(token, op)
      const floors = visit.mode === 'exclusive' ? [highest] : [exclusive, fromGrant.get(seqOf(token)) ?? null]
      for (const floor of floors) {
        if (floor === null || token >= floor.token || forgotten.has(op)) continue
        const what = `${op} asked after ${floor.op} was granted, and its token ${token} is not above ${floor.token}`
        found.push({ check: 'tokens', atMs, key, what, ops: [floor.op, op] })
      }
    }
  }
  return found
}

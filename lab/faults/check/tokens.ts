import { handedOnForgotten } from './forgotten.ts'
import type { OverlapRules } from './overlaps.ts'
import { byKey, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/** Tokens of one key are all different, and whoever the store granted after somebody was granted has a higher one. */
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
    for (const visit of visits.sort((one, other) => one.askedMs - other.askedMs)) {
      const { token, op, settledMs: atMs } = visit
      for (; (granted[next]?.settledMs ?? Number.POSITIVE_INFINITY) < visit.askedMs; next++) {
        const earlier = granted[next] as (typeof granted)[number]
        if (highest === null || earlier.token > highest.token) highest = earlier
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
      if (highest !== null && token < highest.token && !forgotten.has(op)) {
        const what = `${op} asked after ${highest.op} was granted, and its token ${token} is not above ${highest.token}`
        found.push({ check: 'tokens', atMs, key, what, ops: [highest.op, op] })
      }
    }
  }
  return found
}

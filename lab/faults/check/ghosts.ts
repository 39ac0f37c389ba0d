import { storeTokenOf } from './forgotten.ts'
import { byKey, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/**
 * The store has no holder that no process knows of. Such a claim closes a key, or takes a permit from it, for as long as its
 * process renews it.
 */
export function ghosts(story: Story, boundMs: number): Violation[] {
  const granted = byKey(grantedOf(story.visits))
  const found = new Map<string, Violation>()
  for (const { atMs, key, label, token, heldMs } of story.holders) {
    if (heldMs <= boundMs) continue
    const known = granted
      .get(key)
      ?.some((visit) => storeTokenOf(visit.token ?? 0n) === token && visit.validUntilMs + boundMs >= atMs)
    const what = `${label} holds it in the store with token ${token} since ${Math.round(heldMs)} ms, and no process knows of it`
    if (!known) found.set(`${key} ${token}`, { check: 'ghost', atMs, key, what, ops: [] })
  }
  return [...found.values()]
}

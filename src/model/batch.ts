import { step } from './step.ts'
import type { Blocked, Claim, ClaimAnswer, Clock, Event, KeyState, Letter, Rules } from './types.ts'

/** Where a store keeps the states while it works on a batch. */
export interface Shelf {
  get(key: string): KeyState
  put(key: string, state: KeyState): void
}

/** A letter and the key it is about. */
export interface KeyLetter extends Letter {
  readonly key: string
}

export interface Batch<A> {
  readonly answers: readonly A[]
  readonly letters: readonly KeyLetter[]
}

/** Claims in their order; those of one group, which stand together, are granted all or none. */
export function claimBatch(
  shelf: Shelf,
  claims: readonly Claim[],
  inbox: string | null,
  clock: Clock,
  rules: Rules,
): Batch<ClaimAnswer> {
  const answers: ClaimAnswer[] = []
  const letters: KeyLetter[] = []
  for (let first = 0; first < claims.length; ) {
    let next = first + 1
    const group = claims[first]?.group ?? null
    while (group !== null && claims[next]?.group === group) next++
    claimGroup(shelf, claims.slice(first, next), inbox, clock, rules, answers, letters)
    first = next
  }
  return { answers, letters }
}

/** The same kind of event on several keys. */
export function stepBatch<E extends Event>(
  shelf: Shelf,
  events: readonly (readonly [key: string, event: E])[],
  clock: Clock,
  rules: Rules,
) {
  const letters: KeyLetter[] = []
  const answers = events.map(([key, event]) => {
    const outcome = step(shelf.get(key), event, clock, rules)
    shelf.put(key, outcome.state)
    for (const letter of outcome.letters) letters.push({ ...letter, key })
    return outcome.answer
  })
  return { answers, letters }
}

function claimGroup(
  shelf: Shelf,
  claims: readonly Claim[],
  inbox: string | null,
  clock: Clock,
  rules: Rules,
  answers: ClaimAnswer[],
  letters: KeyLetter[],
): void {
  const states = new Map<string, KeyState>()
  const drafts: KeyLetter[] = []
  const granted: ClaimAnswer[] = []
  for (const claim of claims) {
    const before = states.get(claim.key) ?? shelf.get(claim.key)
    const outcome = step(before, { kind: 'claim', claim, inbox }, clock, rules)
    if (claim.group !== null && outcome.answer.kind !== 'granted') {
      // Nothing was written yet, so forgetting the drafts is the roll-back.
      for (const other of claims) answers.push(other === claim ? outcome.answer : heldBack(clock))
      return
    }
    granted.push(outcome.answer)
    states.set(claim.key, outcome.state)
    for (const letter of outcome.letters) drafts.push({ ...letter, key: claim.key })
  }
  for (const [key, state] of states) shelf.put(key, state)
  answers.push(...granted)
  letters.push(...drafts)
}

/** Free by itself, but not granted because another claim of its group was not. */
function heldBack(clock: Clock): Blocked {
  return { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs: clock.nowMs, holder: null }
}

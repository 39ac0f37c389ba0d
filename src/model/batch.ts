import { step } from './step.ts'
import type { Answer, Blocked, Claim, ClaimAnswer, Clock, Event, KeyState, Letter, Rules } from './types.ts'

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
    const claim = claims[first] as Claim
    if (claim.group === null) {
      const {
        state,
        answer,
        letters: posted,
      } = step(shelf.get(claim.key), { kind: 'claim', claim, inbox }, clock, rules)
      shelf.put(claim.key, state)
      answers.push(answer)
      for (const letter of posted) letters.push({ ...letter, key: claim.key })
      first++
      continue
    }
    let next = first + 1
    while (claims[next]?.group === claim.group) next++
    claimGroup(shelf, claims.slice(first, next), inbox, clock, rules, answers, letters)
    first = next
  }
  return { answers, letters }
}

/** The same kind of event for several claims. */
export function stepBatch<E extends Event>(
  shelf: Shelf,
  claims: readonly Pick<Claim, 'key' | 'id' | 'ttlMs'>[],
  eventOf: (claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>) => E,
  clock: Clock,
  rules: Rules,
): Batch<Answer<E>> {
  const answers: Answer<E>[] = []
  const letters: KeyLetter[] = []
  for (const claim of claims) {
    const { state, answer, letters: posted } = step(shelf.get(claim.key), eventOf(claim), clock, rules)
    shelf.put(claim.key, state)
    answers.push(answer)
    for (const letter of posted) letters.push({ ...letter, key: claim.key })
  }
  return { answers, letters }
}

export const renewOf = ({ id, ttlMs }: Pick<Claim, 'id' | 'ttlMs'>) => ({ kind: 'renew', id, ttlMs }) as const
export const releaseOf = ({ id }: Pick<Claim, 'id'>) => ({ kind: 'release', id }) as const

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
    if (outcome.answer.kind !== 'granted') {
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
export function heldBack(clock: Clock): Blocked {
  return { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs: clock.nowMs, holder: null }
}

import { step } from './step.ts'
import type {
  Answer,
  Blocked,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  Notification,
  Rules,
} from './types.ts'

/** The states of a store's keys, for the time of one batch. */
export interface KeyStates {
  get(key: string): KeyState
  put(key: string, state: KeyState): void
}

/** A notification and the key that it is about. */
export interface KeyNotification extends Notification {
  readonly key: string
}

export interface BatchOutcome<A> {
  readonly answers: readonly A[]
  readonly notifications: readonly KeyNotification[]
}

/** Claims in their order; the claims of a group are adjacent, and are granted all or none. */
export function claimBatch(
  states: KeyStates,
  claims: readonly Claim[],
  inbox: string | null,
  clock: Clock,
  rules: Rules,
): BatchOutcome<ClaimAnswer> {
  const answers: ClaimAnswer[] = []
  const notifications: KeyNotification[] = []
  for (let first = 0; first < claims.length; ) {
    const claim = claims[first] as Claim
    if (claim.group === null) {
      const outcome = step(states.get(claim.key), { kind: 'claim', claim, inbox }, clock, rules)
      states.put(claim.key, outcome.state)
      answers.push(outcome.answer)
      for (const notification of outcome.notifications)
        notifications.push({ ...notification, key: claim.key })
      first++
      continue
    }
    let next = first + 1
    while (claims[next]?.group === claim.group) next++
    claimGroup(states, claims.slice(first, next), inbox, clock, rules, answers, notifications)
    first = next
  }
  return { answers, notifications }
}

/** The same kind of event for several claims. */
export function stepBatch<E extends Event>(
  states: KeyStates,
  claims: readonly Pick<Claim, 'key' | 'id' | 'ttlMs'>[],
  eventOf: (claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>) => E,
  clock: Clock,
  rules: Rules,
): BatchOutcome<Answer<E>> {
  const answers: Answer<E>[] = []
  const notifications: KeyNotification[] = []
  for (const claim of claims) {
    const outcome = step(states.get(claim.key), eventOf(claim), clock, rules)
    states.put(claim.key, outcome.state)
    answers.push(outcome.answer)
    for (const notification of outcome.notifications) notifications.push({ ...notification, key: claim.key })
  }
  return { answers, notifications }
}

export const renewOf = ({ id, ttlMs }: Pick<Claim, 'id' | 'ttlMs'>) => ({ kind: 'renew', id, ttlMs }) as const
export const releaseOf = ({ id }: Pick<Claim, 'id'>) => ({ kind: 'release', id }) as const

function claimGroup(
  states: KeyStates,
  claims: readonly Claim[],
  inbox: string | null,
  clock: Clock,
  rules: Rules,
  answers: ClaimAnswer[],
  notifications: KeyNotification[],
): void {
  const changed = new Map<string, KeyState>()
  const drafts: KeyNotification[] = []
  const granted: ClaimAnswer[] = []
  for (const claim of claims) {
    const before = changed.get(claim.key) ?? states.get(claim.key)
    const outcome = step(before, { kind: 'claim', claim, inbox }, clock, rules)
    if (outcome.answer.kind !== 'granted') {
      // Nothing was written yet, so forgetting the drafts is the roll-back.
      for (const other of claims) answers.push(other === claim ? outcome.answer : heldBack(clock))
      return
    }
    granted.push(outcome.answer)
    changed.set(claim.key, outcome.state)
    for (const notification of outcome.notifications) drafts.push({ ...notification, key: claim.key })
  }
  for (const [key, state] of changed) states.put(key, state)
  answers.push(...granted)
  notifications.push(...drafts)
}

/** The answer to a claim that would be granted alone, but whose group was not. */
export function heldBack(clock: Clock): Blocked {
  return { kind: 'blocked', position: 0, retryAfterMs: null, storeTimeMs: clock.nowMs, holder: null }
}

import type * as modelModule from '../../src/model/index.ts'
import type { Answer, Claim, Clock, Event, KeyState, Notification, Rules } from '../../src/model/index.ts'
import {
  type Action,
  CLAIMANTS,
  claimOf,
  FIRST_HOLDER,
  FIRST_WAITER,
  type Plan,
  RULES,
  shared,
} from './arbitraries.ts'
import { Ledger } from './ledger.ts'

/** The model as a value, so that a property can be asked about a broken copy of it. */
export type Model = typeof modelModule

/** One transition, with everything that went in and came out. */
export interface Step {
  readonly before: KeyState
  readonly event: Event
  readonly clock: Clock
  readonly state: KeyState
  readonly answer: Answer<Event>
  readonly notifications: readonly Notification[]
}

export interface Sight extends Step {
  /** Holders whose time ran out since the step before. */
  readonly expired: readonly string[]
  /** The claimants' knowledge when the event came, at that time. */
  readonly known: Ledger
  /** Their knowledge after it. */
  readonly learnt: Ledger
}

export interface Tour {
  readonly rules?: Rules
  /** Drops the state as soon as the model calls it forgettable, as a store does. */
  readonly forget?: boolean
  /** Freezes states and events, so that a step that changes its input throws. */
  readonly freeze?: boolean
}

const START_MS = 1_000
const START_US = 1_700_000_000_000_000
/** The wall clock of a busy store moves on at least this far with every step: more than one step can grant. */
const STEP_US = 10

/** Walks through a plan and shows every step to `look`. */
export function explore(model: Model, plan: Plan, look: (sight: Sight) => void, tour: Tour = {}): void {
  const rules = tour.rules ?? RULES
  const keep = tour.freeze === true ? deepFreeze : <T>(value: T) => value
  const learnt = new Ledger()
  let state: KeyState = keep(model.EMPTY)
  let nowMs = START_MS
  for (const [place, move] of plan.moves.entries()) {
    nowMs += move.waitMs
    const stampUs = START_US + (nowMs - START_MS) * 1000 + place * STEP_US + move.skewUs
    const clock: Clock = { nowMs, stampUs }
    if (tour.forget === true && model.isForgettable(state, nowMs)) state = model.EMPTY
    const event = keep(eventOf(move.action, plan.claims, learnt))
    const expired = learnt.pass(nowMs)
    const known = copyOf(learnt)
    const before = state
    const outcome = model.step(before, event, clock, rules)
    state = keep(outcome.state)
    const { answer, notifications } = outcome
    const sight: Sight = { before, event, clock, state, answer, notifications, expired, known, learnt }
    learnt.learn(sight)
    look(sight)
  }
}

export function inboxOf(id: string): string {
  return `inbox of ${id}`
}

export function claimEvent(claim: Claim): Event & { kind: 'claim' } {
  return { kind: 'claim', claim, inbox: inboxOf(claim.id) }
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

function eventOf(action: Action, claims: readonly Claim[], ledger: Ledger): Event {
  const bodyOf = (id: string) =>
    claims.find((claim) => claim.id === id) ?? ledger.believer(id)?.claim ?? claimOf(id)
  switch (action.kind) {
    case 'claim': {
      const claim = bodyOf(idOf(action.id, ledger))
      const downgrade = action.downgrade && ledger.believer(claim.id)?.claim.mode.kind === 'exclusive'
      return claimEvent(downgrade ? { ...claim, mode: shared } : claim)
    }
    case 'adopt': {
      const from = idOf(action.from, ledger)
      // The adopter knows mode and owner from the lease that it was handed, as it was when it was written down.
      const now = action.stale ? undefined : ledger.believer(from)?.claim
      const given = now ?? bodyOf(from)
      return claimEvent({ ...given, id: action.id, label: `label of ${action.id}`, replaces: from })
    }
    case 'renew':
      return { kind: 'renew', id: idOf(action.id, ledger), ttlMs: action.ttlMs }
    case 'release':
      return { kind: 'release', id: idOf(action.id, ledger) }
    case 'evict':
    case 'revoke': {
      const token = action.back === null ? null : (ledger.tokens.at(-1 - action.back) ?? 0n)
      return { kind: action.kind, token: token === null ? null : token + BigInt(action.handedOver) }
    }
    case 'tick':
      return { kind: 'tick' }
  }
}

function idOf(who: string, ledger: Ledger): string {
  if (who === FIRST_HOLDER) return ledger.holds[0]?.believers[0]?.claim.id ?? CLAIMANTS[0]
  if (who === FIRST_WAITER) return ledger.queue[0]?.claim.id ?? CLAIMANTS[0]
  return who
}

function copyOf(ledger: Ledger): Ledger {
  const copy = new Ledger()
  copy.holds = ledger.holds.map((hold) => ({ ...hold, believers: hold.believers.map((one) => ({ ...one })) }))
  copy.queue = ledger.queue.map((waiter) => ({ ...waiter }))
  copy.closedUntilMs = ledger.closedUntilMs
  copy.tokens.push(...ledger.tokens)
  return copy
}

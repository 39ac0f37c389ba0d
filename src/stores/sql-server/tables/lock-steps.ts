import {
  type BatchOutcome,
  type Claim,
  type ClaimAnswer,
  type Clock,
  claimBatch,
  type EvictAnswer,
  fits,
  type KeyState,
  type ReleaseAnswer,
  type RenewAnswer,
  releaseOf,
  renewOf,
  stepBatch,
} from '../../../model/index.ts'
import { NO_TOKEN, SQL_RULES } from '../../shared/sql.ts'

import type { KeySnapshot } from './database.ts'
import { positionInQueue } from './key-snapshot.ts'
import { PendingStep, type States, type StepResult } from './step.ts'

/** A claim retries this soon while another transaction keeps its key locked. */
const LOCKED_RETRY_MS = 25

/** A step on the locks of one key, or of a group. */
export type LockStep =
  | StepOf<'claim', ClaimAnswer>
  | StepOf<'renew', RenewAnswer>
  | StepOf<'release', ReleaseAnswer>
  | StepOf<'evict', EvictAnswer>

class StepOf<K, A> extends PendingStep<KeyState, readonly A[]> {
  readonly kind: K
  readonly claims: readonly Claim[]
  readonly whole: boolean

  constructor(
    kind: K,
    keys: readonly string[],
    claims: readonly Claim[],
    batchOf: (states: States<KeyState>, clock: Clock) => BatchOutcome<A>,
    {
      locked = null,
      whole = false,
    }: { locked?: ((clock: Clock) => readonly A[]) | null; whole?: boolean } = {},
  ) {
    const work = (states: States<KeyState>, clock: Clock, rows: ReadonlyMap<string, unknown>) =>
      withPositions(batchOf(onlyChanged(states), clock), claims, states, rows)
    super(keys, work, locked)
    this.kind = kind
    this.claims = claims
    this.whole = whole
  }
}

/** Adjacent claims of one group share a step. */
export function claimSteps(claims: readonly Claim[], inbox: string | null): StepOf<'claim', ClaimAnswer>[] {
  const steps: StepOf<'claim', ClaimAnswer>[] = []
  for (let first = 0; first < claims.length; ) {
    const { group } = claims[first] as Claim
    let next = first + 1
    while (group !== null && claims[next]?.group === group) next++
    steps.push(claimStep(claims.slice(first, next), inbox))
    first = next
  }
  return steps
}

function claimStep(claims: readonly Claim[], inbox: string | null) {
  const keys = [...new Set(claims.map(({ key }) => key))]
  const batchOf = (states: States<KeyState>, clock: Clock) =>
    claimBatch(states, claims, inbox, clock, SQL_RULES)
  const locked = ({ nowMs }: Clock) =>
    claims.map((): ClaimAnswer => {
      return { kind: 'blocked', position: 0, retryAfterMs: LOCKED_RETRY_MS, storeTimeMs: nowMs, holder: null }
    })
  return new StepOf<'claim', ClaimAnswer>('claim', keys, claims, batchOf, { locked })
}

/** The renewal of one claim that is not known to wait. */
export function renewStep(claim: Claim): StepOf<'renew', RenewAnswer> {
  return new StepOf('renew', [claim.key], [claim], (states, clock) =>
    stepBatch(states, [claim], renewOf, clock, SQL_RULES),
  )
}

export function releaseStep(claim: Claim): StepOf<'release', ReleaseAnswer> {
  return new StepOf('release', [claim.key], [claim], (states, clock) =>
    stepBatch(states, [claim], releaseOf, clock, SQL_RULES),
  )
}

export function evictStep(key: string, token: bigint | null, ask: boolean): StepOf<'evict', EvictAnswer> {
  const event = { kind: ask ? 'revoke' : 'evict', token } as const
  const batchOf = (states: States<KeyState>, clock: Clock) =>
    stepBatch(states, [{ key, id: '', ttlMs: 0 }], () => event, clock, SQL_RULES)
  // No hold has NO_TOKEN: it only applies the passing of time, which needs no more rows than any step.
  return new StepOf('evict', [key], [], batchOf, { whole: token !== NO_TOKEN })
}

/** True if one statement can grant the claim on a free key. */
export function canClaimAtOnce({ group, replaces, mode }: Claim): boolean {
  return group === null && replaces === null && fits(mode, [])
}

/** True if one statement can put the claim in a queue. */
export function canJoinAtOnce(claim: Claim): boolean {
  return canClaimAtOnce(claim) && claim.owner === null && claim.queue
}

/** The model counts positions among the waiters that were read; the claim may be further back in the queue. */
function withPositions<A>(
  { answers, notifications: letters }: BatchOutcome<A>,
  claims: readonly Claim[],
  states: States<KeyState>,
  rows: ReadonlyMap<string, unknown>,
): StepResult<readonly A[]> {
  const exact = answers.map((answer, index) => {
    const { position } = answer as { readonly position?: number }
    if (position === undefined || position === 0) return answer
    const { key, id } = claims[index] as Claim
    const state = states.get(key)
    const amongRead = state.queue.findIndex(({ claim }) => claim.id === id) + 1
    const unread = positionInQueue(rows.get(key) as KeySnapshot | undefined, state, id) - amongRead
    return { ...answer, position: position + unread }
  })
  return { answer: exact, notifications: letters }
}

/** Drops writes that change nothing. */
function onlyChanged(states: States<KeyState>): States<KeyState> {
  return {
    get: (key) => states.get(key),
    put: (key, state) => {
      if (!isSame(states.get(key), state)) states.put(key, state)
    },
  }
}

/** The model replaces what it changes, so the same arrays mean the same content. */
function isSame(before: KeyState, after: KeyState): boolean {
  return (
    before.holds === after.holds &&
    before.queue === after.queue &&
    before.seq === after.seq &&
    before.closedUntilMs === after.closedUntilMs
  )
}

import {
  type Batch,
  type Claim,
  type ClaimAnswer,
  type Clock,
  claimBatch,
  type Event,
  type EvictAnswer,
  fits,
  type KeyState,
  type ReleaseAnswer,
  type RenewAnswer,
  releaseOf,
  renewOf,
  stepBatch,
} from '../../../model/index.ts'
import { NO_TOKEN, RULES } from '../../shared/rules.ts'
import type { KeySnapshot } from './database.ts'
import { positionOf } from './key-snapshot.ts'
import { PendingStep, type States, type StepResult } from './step.ts'

/** A claim retries this soon while another transaction keeps its key locked. */
const LOCKED_RETRY_MS = 25

/** A step on the locks of one key, or of a group. */
export type LockStep =
  | StepOn<'claim', ClaimAnswer>
  | StepOn<'renew', RenewAnswer>
  | StepOn<'release', ReleaseAnswer>
  | StepOn<'evict', EvictAnswer>

interface StepOn<K, A> {
  readonly kind: K
  readonly claims: readonly Claim[]
  readonly step: PendingStep<KeyState, readonly A[]>
}

/** Adjacent claims of one group share a step. */
export function claimSteps(claims: readonly Claim[], inbox: string | null): StepOn<'claim', ClaimAnswer>[] {
  const steps: StepOn<'claim', ClaimAnswer>[] = []
  for (let first = 0; first < claims.length; ) {
    const { group } = claims[first] as Claim
    let next = first + 1
    while (group !== null && claims[next]?.group === group) next++
    steps.push(claimStep(claims.slice(first, next), inbox))
    first = next
  }
  return steps
}

function claimStep(claims: readonly Claim[], inbox: string | null): StepOn<'claim', ClaimAnswer> {
  const locked = ({ nowMs }: Clock): readonly ClaimAnswer[] =>
    claims.map(() => {
      return { kind: 'blocked', position: 0, retryAfterMs: LOCKED_RETRY_MS, storeTimeMs: nowMs, holder: null }
    })
  const step = new PendingStep<KeyState, readonly ClaimAnswer[]>(
    keysOf(claims),
    (states, clock, rows) => {
      const batch = claimBatch(onlyChanged(states), claims, inbox, clock, RULES)
      return resultOf(withPositions(batch, claims, states, rows))
    },
    locked,
  )
  step.claims = claims
  return { kind: 'claim', claims, step: step }
}

/** The renewal of one claim that is not known to wait. */
export function renewStep(claim: Claim): StepOn<'renew', RenewAnswer> {
  return { kind: 'renew', claims: [claim], step: stepOf(claim, renewOf) }
}

export function releaseStep(claim: Claim): StepOn<'release', ReleaseAnswer> {
  return { kind: 'release', claims: [claim], step: stepOf(claim, releaseOf) }
}

export function evictStep(key: string, token: bigint | null, ask: boolean): StepOn<'evict', EvictAnswer> {
  const event = { kind: ask ? 'revoke' : 'evict', token } as const
  const step = stepOf({ key, id: '', ttlMs: 0 }, () => event)
  // No hold has NO_TOKEN: it only applies the passing of time, which needs no more rows than any step.
  step.whole = token !== NO_TOKEN
  return { kind: 'evict', claims: [], step: step }
}

/** True if one statement can grant the claim on a free key. */
export function canClaimAtOnce({ group, replaces, mode }: Claim): boolean {
  return group === null && replaces === null && fits(mode, [])
}

/** True if one statement can put the claim in a queue. */
export function canJoinAtOnce(claim: Claim): boolean {
  return canClaimAtOnce(claim) && claim.owner === null && claim.queue
}

function stepOf<E extends Event>(
  claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>,
  eventOf: (claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>) => E,
) {
  const work = (states: States<KeyState>, clock: Clock, rows: ReadonlyMap<string, unknown>) => {
    const batch = stepBatch(onlyChanged(states), [claim], eventOf, clock, RULES)
    return resultOf(withPositions(batch, [claim], states, rows))
  }
  const step = new PendingStep([claim.key], work)
  if ('owner' in claim) step.claims = [claim as Claim]
  return step
}

/** The model counts positions among the waiters that were read; the claim may be further back in the queue. */
function withPositions<A>(
  { answers, letters }: Batch<A>,
  claims: readonly Pick<Claim, 'key' | 'id'>[],
  states: States<KeyState>,
  rows: ReadonlyMap<string, unknown>,
): Batch<A> {
  const exact = answers.map((answer, index) => {
    const { key, id } = claims[index] as Claim
    const { position } = answer as { readonly position?: number }
    if (position === undefined || position === 0) return answer
    const state = states.get(key)
    const amongRead = state.line.findIndex(({ claim }) => claim.id === id) + 1
    const unread = positionOf(rows.get(key) as KeySnapshot | undefined, state, id) - amongRead
    return { ...answer, position: position + unread }
  })
  return { answers: exact, letters }
}

function resultOf<A>({ answers, letters }: Batch<A>): StepResult<readonly A[]> {
  return { answer: answers, notifications: letters }
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
    before.line === after.line &&
    before.seq === after.seq &&
    before.closedUntilMs === after.closedUntilMs
  )
}

function keysOf(claims: readonly Claim[]): readonly string[] {
  return [...new Set(claims.map(({ key }) => key))]
}

import {
  type BatchOutcome,
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
import { isSame } from '../shelf.ts'
import { positionOf } from './excerpts.ts'
import { RULES } from './rules.ts'
import type { Seen } from './tables.ts'
import { type Played, type Shelf, Task } from './task.ts'

/** A token that no hold has: to evict it counts the time of a key, and no more. */
export const NOBODY = 0n

/** How soon a claim looks again whose key somebody's transaction keeps locked. */
const LOCKED_RETRY_MS = 25

/** A step on the locks of one key, or of a group. */
export type LockTask =
  | {
      readonly kind: 'claim'
      readonly claims: readonly Claim[]
      readonly task: Task<KeyState, readonly ClaimAnswer[]>
    }
  | {
      readonly kind: 'renew'
      readonly claims: readonly Claim[]
      readonly task: Task<KeyState, readonly RenewAnswer[]>
    }
  | {
      readonly kind: 'release'
      readonly claims: readonly Claim[]
      readonly task: Task<KeyState, readonly ReleaseAnswer[]>
    }
  | {
      readonly kind: 'evict'
      readonly claims: readonly Claim[]
      readonly task: Task<KeyState, readonly EvictAnswer[]>
    }

/** Claims of one group stand together, and so does their task. */
export function claimTasks(claims: readonly Claim[], inbox: string | null): (LockTask & { kind: 'claim' })[] {
  const tasks: (LockTask & { kind: 'claim' })[] = []
  for (let first = 0; first < claims.length; ) {
    const { group } = claims[first] as Claim
    let next = first + 1
    while (group !== null && claims[next]?.group === group) next++
    tasks.push(claimTask(claims.slice(first, next), inbox))
    first = next
  }
  return tasks
}

function claimTask(claims: readonly Claim[], inbox: string | null): LockTask & { kind: 'claim' } {
  const locked = ({ nowMs }: Clock): readonly ClaimAnswer[] =>
    claims.map(() => {
      return { kind: 'blocked', position: 0, retryAfterMs: LOCKED_RETRY_MS, storeTimeMs: nowMs, holder: null }
    })
  const task = new Task<KeyState, readonly ClaimAnswer[]>(
    keysOf(claims),
    (shelf, clock, rows) => {
      const batch = claimBatch(careful(shelf), claims, inbox, clock, RULES)
      return played(placed(batch, claims, shelf, rows))
    },
    locked,
  )
  task.claims = claims
  return { kind: 'claim', claims, task }
}

/** The renewal of one claim that is not known to wait. */
export function renewTask(claim: Claim): LockTask & { kind: 'renew' } {
  return { kind: 'renew', claims: [claim], task: stepTask(claim, renewOf) }
}

export function releaseTask(claim: Claim): LockTask & { kind: 'release' } {
  return { kind: 'release', claims: [claim], task: stepTask(claim, releaseOf) }
}

export function evictTask(key: string, token: bigint | null, ask: boolean): LockTask & { kind: 'evict' } {
  const event = { kind: ask ? 'revoke' : 'evict', token } as const
  const task = stepTask({ key, id: '', ttlMs: 0 }, () => event)
  // Nobody's token only lets time pass, and that needs no more than any step.
  task.whole = token !== NOBODY
  return { kind: 'evict', claims: [], task }
}

/** Whether one statement can grant the claim if its key is free. */
export function isPlain({ group, replaces, mode }: Claim): boolean {
  return group === null && replaces === null && fits(mode, [])
}

/** True if one statement can put the claim in a queue. */
export function isPatient(claim: Claim): boolean {
  return isPlain(claim) && claim.owner === null && claim.queue
}

function stepTask<E extends Event>(
  claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>,
  eventOf: (claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>) => E,
) {
  const work = (shelf: Shelf<KeyState>, clock: Clock, rows: ReadonlyMap<string, unknown>) => {
    const batch = stepBatch(careful(shelf), [claim], eventOf, clock, RULES)
    return played(placed(batch, [claim], shelf, rows))
  }
  const task = new Task([claim.key], work)
  if ('owner' in claim) task.claims = [claim as Claim]
  return task
}

/** The model counts positions among the waiters that were read; others may stand before the claim. */
function placed<A>(
  { answers, notifications: letters }: BatchOutcome<A>,
  claims: readonly Pick<Claim, 'key' | 'id'>[],
  shelf: Shelf<KeyState>,
  rows: ReadonlyMap<string, unknown>,
): BatchOutcome<A> {
  const exact = answers.map((answer, place) => {
    const { key, id } = claims[place] as Claim
    const { position } = answer as { readonly position?: number }
    if (position === undefined || position === 0) return answer
    const state = shelf.get(key)
    const amongRead = state.queue.findIndex(({ claim }) => claim.id === id) + 1
    const unread = positionOf(rows.get(key) as Seen | undefined, state, id) - amongRead
    return { ...answer, position: position + unread }
  })
  return { answers: exact, notifications: letters }
}

function played<A>({ answers, notifications: letters }: BatchOutcome<A>): Played<readonly A[]> {
  return { answer: answers, letters }
}

/** What did not change is not written. */
function careful(shelf: Shelf<KeyState>): Shelf<KeyState> {
  return {
    get: (key) => shelf.get(key),
    put: (key, state) => {
      if (!isSame(shelf.get(key), state)) shelf.put(key, state)
    },
  }
}

function keysOf(claims: readonly Claim[]): readonly string[] {
  return [...new Set(claims.map(({ key }) => key))]
}

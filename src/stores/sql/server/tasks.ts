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
import { isSame } from '../shelf.ts'
import { RULES } from './rules.ts'
import { type Played, type Shelf, Task } from './task.ts'

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
  const play = (shelf: Shelf<KeyState>, clock: Clock) =>
    claimBatch(careful(shelf), claims, inbox, clock, RULES)
  const locked = ({ nowMs }: Clock): readonly ClaimAnswer[] =>
    claims.map(() => {
      return { kind: 'blocked', position: 0, retryAfterMs: LOCKED_RETRY_MS, storeTimeMs: nowMs, holder: null }
    })
  return {
    kind: 'claim',
    claims,
    task: new Task(keysOf(claims), (shelf, clock) => played(play(shelf, clock)), locked),
  }
}

export function renewTask(claim: Claim): LockTask & { kind: 'renew' } {
  return { kind: 'renew', claims: [claim], task: stepTask(claim, renewOf) }
}

export function releaseTask(claim: Claim): LockTask & { kind: 'release' } {
  return { kind: 'release', claims: [claim], task: stepTask(claim, releaseOf) }
}

export function evictTask(key: string, token: bigint | null, ask: boolean): LockTask & { kind: 'evict' } {
  const event = { kind: ask ? 'revoke' : 'evict', token } as const
  return { kind: 'evict', claims: [], task: stepTask({ key, id: '', ttlMs: 0 }, () => event) }
}

/** Whether one statement can grant the claim if its key is free. */
export function isPlain({ group, replaces, mode }: Claim): boolean {
  return group === null && replaces === null && fits(mode, [])
}

/** Whether one statement can put the claim in a line behind an exclusive hold. */
export function isPatient({ group, replaces, owner, queue, mode }: Claim): boolean {
  return group === null && replaces === null && owner === null && queue && mode.kind === 'exclusive'
}

function stepTask<E extends Event>(
  claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>,
  eventOf: (claim: Pick<Claim, 'key' | 'id' | 'ttlMs'>) => E,
) {
  return new Task([claim.key], (shelf: Shelf<KeyState>, clock: Clock) =>
    played(stepBatch(careful(shelf), [claim], eventOf, clock, RULES)),
  )
}

function played<A>({ answers, letters }: Batch<A>): Played<readonly A[]> {
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

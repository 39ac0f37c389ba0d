import { TimerHeap } from '../../core/calls/timer-heap.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { EnsembleClock } from './client/clock.ts'
import type { Acl } from './client/protocol.ts'
import type { SessionPools } from './client/sessions.ts'
import type { LocalClaim } from './local-claims.ts'
import type { Paths } from './names.ts'

/** The calls of timers and watches into the store. */
export interface ClaimEvents {
  /** The timer of a claim is due. */
  due(local: LocalClaim, nowMs: number): void
  /** The queue before a waiter has changed, or may have. */
  wake(local: LocalClaim): void
  /** A claim came to a key that this one holds; `atMs` is the earliest time to list the queue. */
  arrived(local: LocalClaim, atMs: number): void
}

/** The parts of one store, for its operations. */
export interface StoreContext {
  readonly runtime: Runtime
  readonly paths: Paths
  readonly acl: readonly Acl[]
  readonly sessions: SessionPools
  readonly clock: EnsembleClock
  readonly events: ClaimEvents
  /** By id and key. */
  readonly claims: Map<string, LocalClaim>
  readonly deadlines: TimerHeap
  /** Keys that others waited for when this process released them. */
  readonly contendedKeys: Set<string>
  readonly listeners: Set<(notice: StoreNotice) => void>
}

export function createContext(sessions: SessionPools, events: ClaimEvents): StoreContext {
  const { runtime, paths, acl, clock } = sessions
  return {
    runtime,
    paths,
    acl,
    sessions,
    clock,
    events,
    claims: new Map(),
    deadlines: new TimerHeap(runtime, true),
    contendedKeys: new Set(),
    listeners: new Set(),
  }
}

export function findClaim(
  { claims }: StoreContext,
  { key, id }: Pick<Claim, 'key' | 'id'>,
): LocalClaim | undefined {
  return claims.get(id + key)
}

/** Notifies the listeners after the present call has returned. */
export function tell({ listeners, runtime }: StoreContext, notice: StoreNotice): void {
  for (const listener of listeners) runtime.defer(() => listener(notice))
}

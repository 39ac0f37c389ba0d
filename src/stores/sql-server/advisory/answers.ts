import type { Blocked, Claim, Granted, Refused } from '../../../model/index.ts'
import { SPARE_TOKENS } from '../../../model/index.ts'
import type { LockPlan } from './session-locks.ts'

/** There are no tokens, and whether others wait is not known; so the bound on hand-overs is that of tokens elsewhere. */
export const GRANTED: Granted = { kind: 'granted', token: null, spare: SPARE_TOKENS, contended: false }

/** The server keeps no line that one could stand in without standing still. */
export const BLOCKED: Blocked = {
  kind: 'blocked',
  position: 0,
  retryAfterMs: null,
  storeTimeMs: 0,
  holder: null,
}

export function answered<A>(answer: A): LockPlan<A> {
  return { steps: [], asks: false, alone: false, ttlMs: 0, settle: () => answer }
}

export function refused(reason: Refused['reason'], message: string): Refused {
  return { kind: 'refused', reason, message }
}

/** Why a claim cannot be made on a session lock; null when it can. */
export function refusalOf({ id, mode, owner, lockDelayMs, group, replaces }: Claim): Refused | null {
  if (mode.kind === 'permits') return refused('mode', 'a session lock has no permits')
  if (owner !== null) return refused('mode', 'a session lock has no named owners')
  if (replaces !== null && replaces !== id) return refused('mode', 'a session lock cannot change its process')
  if (group !== null) return refused('group', 'session locks are granted one by one')
  return lockDelayMs > 0 ? refused('mode', 'a session lock cannot be kept closed after an expiry') : null
}

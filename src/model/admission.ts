import type { Claim, Hold, KeyState, Mode, Refused } from './types.ts'

/** True if a claim of `mode` may hold the key beside its present holds. */
export function fits(mode: Mode, holds: readonly Pick<Hold, 'mode'>[]): boolean {
  switch (mode.kind) {
    case 'exclusive':
      return holds.length === 0
    case 'shared':
      return holds.every((hold) => hold.mode.kind === 'shared')
    case 'permits':
      return usedPermits(holds) + mode.weight <= mode.limit
  }
}

/** True if a hold of mode `held` gives everything that `wanted` asks for. */
export function covers(held: Mode, wanted: Mode): boolean {
  if (held.kind === 'permits') return wanted.kind === 'permits' && wanted.weight <= held.weight
  return held.kind === 'exclusive' || wanted.kind === 'shared'
}

/** The hold that a claim of a named owner joins, if there is one. */
export function ownHold(holds: readonly Hold[], claim: Claim): Hold | undefined {
  return claim.owner === null ? undefined : holds.find((hold) => hold.owner === claim.owner)
}

/** Says why a claim cannot be granted while the key is used as it is now. */
export function mismatch(state: Pick<KeyState, 'holds' | 'queue'>, claim: Claim): Refused | null {
  const wanted = claim.mode
  if (wanted.kind === 'permits' && wanted.weight > wanted.limit) {
    return refused('limit', `a weight of ${wanted.weight} never fits a limit of ${wanted.limit}`)
  }
  const used = state.holds[0]?.mode ?? state.queue[0]?.claim.mode
  if (used === undefined) return null
  if (used.kind === 'permits' || wanted.kind === 'permits') {
    if (used.kind !== wanted.kind) {
      return refused(
        'mode',
        `the key is in use as ${nameOf(used)} and cannot be claimed as ${nameOf(wanted)}`,
      )
    }
    if (used.kind === 'permits' && wanted.kind === 'permits' && used.limit !== wanted.limit) {
      return refused(
        'limit',
        `the key is in use with limit ${used.limit} and cannot be claimed with limit ${wanted.limit}`,
      )
    }
  }
  return null
}

export function refused(reason: Refused['reason'], message: string): Refused {
  return { kind: 'refused', reason, message }
}

function usedPermits(holds: readonly Pick<Hold, 'mode'>[]): number {
  let used = 0
  for (const hold of holds) if (hold.mode.kind === 'permits') used += hold.mode.weight
  return used
}

function nameOf(mode: Mode): string {
  return mode.kind === 'permits' ? 'a semaphore' : 'a lock'
}

import type { Hold, KeyState, Member, Mode, QueuedClaim } from './types.ts'

/** A claim that holds a key, with the fields that it shares with the other claims of its hold. */
export interface HeldClaim extends Member {
  readonly owner: string | null
  readonly mode: Mode
  readonly seq: number
}

/**
 * The part of a key that the next steps depend on, for stores that keep a row per claim and never load all of them: the claims
 * of the steps, the other claims of their owners, expired claims, one holder and the head of the queue. The rest is counted.
 */
export interface PartialKey {
  readonly seq: number
  readonly seqKeptUntilMs: number
  readonly closedUntilMs: number
  /** The mode of the holds. */
  readonly mode: Mode | null
  /** The number of all holds, and of the permits that they use. */
  readonly holds: number
  readonly used: number
  readonly held: readonly HeldClaim[]
  /** In the order of the queue. */
  readonly queue: readonly QueuedClaim[]
  /** Owners whose holds have claims that are not among `held`. */
  readonly unseen: ReadonlySet<string>
}

/** The writes after steps on a partial key; the numbers are differences. */
export interface KeyChanges {
  /** Holders that are new, renewed or changed. */
  readonly held: readonly HeldClaim[]
  /** Waiters that are new or renewed. */
  readonly queued: readonly QueuedClaim[]
  /** Claims that neither hold the key nor wait any more. */
  readonly gone: readonly string[]
  readonly holds: number
  readonly used: number
  readonly waiting: number
}

/** The id that stands for the claims that were not loaded, and the sequence number of their hold: no token names it. */
export const UNSEEN = ''
const UNSEEN_SEQ = -1

/** A state on which `step` decides as it would on the whole key. */
export function stateOfPartialKey(partial: PartialKey): KeyState {
  const { seq, seqKeptUntilMs, closedUntilMs, mode, holds, used, held, queue, unseen } = partial
  const groups = new Map<string, HeldClaim[]>()
  for (const claim of held) {
    const name = claim.owner === null ? `id ${claim.id}` : `owner ${claim.owner}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [claim])
    else group.push(claim)
  }
  const seen = [...groups.values()].map((group): Hold => {
    const { owner, mode: how, seq: held } = group[0] as HeldClaim
    const members: Member[] = group.map(memberOf)
    if (owner !== null && unseen.has(owner)) members.push(OTHER)
    return { owner, mode: how, seq: held, members }
  })
  const left = holds - seen.length
  if (left > 0 && mode !== null) {
    const weight = used - seen.reduce((sum, hold) => sum + weightOf(hold.mode), 0)
    const how: Mode = mode.kind === 'permits' ? { ...mode, weight } : mode
    seen.push({ owner: null, mode: how, seq: UNSEEN_SEQ, members: [OTHER] })
  }
  return { holds: seen, queue: queue, seq, seqKeptUntilMs, closedUntilMs }
}

/** The difference between two states of one partial key. */
export function changesOf(before: KeyState, after: KeyState): KeyChanges {
  const heldBefore = heldClaims(before)
  const heldAfter = heldClaims(after)
  const queuedBefore = new Map(before.queue.map((waiter) => [waiter.claim.id, waiter]))
  const queuedAfter = new Map(after.queue.map((waiter) => [waiter.claim.id, waiter]))
  const gone = [...heldBefore.keys(), ...queuedBefore.keys()].filter(
    (id) => !heldAfter.has(id) && !queuedAfter.has(id),
  )
  const held = [...heldAfter.values()].filter((claim) => !isSameHeld(heldBefore.get(claim.id), claim))
  const queued = after.queue.filter((waiter) => queuedBefore.get(waiter.claim.id) !== waiter)
  return {
    held,
    queued,
    gone,
    holds: after.holds.length - before.holds.length,
    used: usedOf(after) - usedOf(before),
    waiting: after.queue.length - before.queue.length,
  }
}

/** The claims that hold a key, each by its id. */
export function heldClaims({ holds }: KeyState): Map<string, HeldClaim> {
  const claims = new Map<string, HeldClaim>()
  for (const { owner, mode, seq, members } of holds)
    for (const member of members)
      if (member.id !== UNSEEN) claims.set(member.id, { ...member, owner, mode, seq })
  return claims
}

/** Never expires, so that no hold ends because it was not loaded. */
const OTHER: Member = {
  id: UNSEEN,
  expiresAtMs: Number.POSITIVE_INFINITY,
  sinceMs: 0,
  label: '',
  actor: null,
  meta: null,
  lockDelayMs: 0,
  inbox: null,
}

function memberOf(claim: HeldClaim): Member {
  const { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox } = claim
  return { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox }
}

function isSameHeld(before: HeldClaim | undefined, after: HeldClaim): boolean {
  return (
    before !== undefined &&
    before.expiresAtMs === after.expiresAtMs &&
    before.seq === after.seq &&
    before.mode.kind === after.mode.kind
  )
}

function usedOf({ holds }: KeyState): number {
  return holds.reduce((sum, hold) => sum + weightOf(hold.mode), 0)
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 0
}

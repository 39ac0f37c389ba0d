import type { Hold, KeyState, Member, Mode, Waiter } from './types.ts'

/** One claim that holds a key, with what it shares with the other claims of its hold. */
export interface HeldClaim extends Member {
  readonly owner: string | null
  readonly mode: Mode
  readonly seq: number
}

/**
 * The part of a key that the next steps depend on, for stores that keep a row per claim and never load all of them: the claims that the
 * steps are about, those of their owners, the dead, one holder and the head of the queue. The rest is known by numbers.
 */
export interface Excerpt {
  readonly seq: number
  readonly seqKeptUntilMs: number
  readonly closedUntilMs: number
  /** How the key is held. */
  readonly mode: Mode | null
  /** All holds there are, and the permits that they use together. */
  readonly holds: number
  readonly used: number
  readonly held: readonly HeldClaim[]
  /** In the order of the queue. */
  readonly queue: readonly Waiter[]
  /** Owners whose holds have claims that are not among `held`. */
  readonly unseen: ReadonlySet<string>
}

/** What a store writes after steps on an excerpt; the numbers are differences. */
export interface Changes {
  /** Holders that are new, or renewed, or changed. */
  readonly held: readonly HeldClaim[]
  /** Waiters that are new or renewed. */
  readonly queued: readonly Waiter[]
  /** Claims that neither hold the key nor wait any more. */
  readonly gone: readonly string[]
  readonly holds: number
  readonly used: number
  readonly waiting: number
}

/** The id of the claims that stand for those that were not loaded, and the sequence number of their hold: no token names it. */
export const UNSEEN = ''
const UNSEEN_SEQ = -1

/** A state on which `step` decides as it would on the whole key. */
export function stateOfExcerpt(excerpt: Excerpt): KeyState {
  const { seq, seqKeptUntilMs, closedUntilMs, mode, holds, used, held, queue, unseen } = excerpt
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
  return { holds: seen, line: queue, seq, seqKeptUntilMs, closedUntilMs }
}

/** What steps changed between two states of one excerpt. */
export function changesOf(before: KeyState, after: KeyState): Changes {
  const heldBefore = heldClaims(before)
  const heldAfter = heldClaims(after)
  const queuedBefore = new Map(before.line.map((waiter) => [waiter.claim.id, waiter]))
  const queuedAfter = new Map(after.line.map((waiter) => [waiter.claim.id, waiter]))
  const gone = [...heldBefore.keys(), ...queuedBefore.keys()].filter(
    (id) => !heldAfter.has(id) && !queuedAfter.has(id),
  )
  const held = [...heldAfter.values()].filter((claim) => !isSameHeld(heldBefore.get(claim.id), claim))
  const queued = after.line.filter((waiter) => queuedBefore.get(waiter.claim.id) !== waiter)
  return {
    held,
    queued,
    gone,
    holds: after.holds.length - before.holds.length,
    used: usedOf(after) - usedOf(before),
    waiting: after.line.length - before.line.length,
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

/** Lives for ever, so that nothing ends because it was not loaded. */
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

import { covers, mismatch, refused } from './admission.ts'
import { IndexedDraft } from './indexed-draft.ts'
import type { IndexedClaim, KeyIndex } from './key-index.ts'
import { EMPTY, MOST_TOLD_OF_CONTENTION } from './step.ts'
import { SPARE_TOKENS, seqOf, tokenOf } from './token.ts'
import type {
  Answer,
  Blocked,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  EvictAnswer,
  Granted,
  Mode,
  Notification,
  Refused,
  ReleaseAnswer,
  RenewAnswer,
  Rules,
} from './types.ts'

/** Positions up to this one are exact; further back the answer is an upper bound, the distance of the tickets. */
export const MOST_COUNTED_POSITIONS = 8

/**
 * `step` for a key whose claims lie in an index: the same meaning, at a cost that does not depend on how many hold or wait.
 * It differs in three ways. A position behind the first eight is an upper bound. Its `retryAfterMs` may be too early, never too
 * late. If more claims expire at once than one step removes, the next steps remove the rest; until then they count as expired.
 */
export function indexedStep<E extends Event>(
  index: KeyIndex,
  event: E,
  clock: Clock,
  rules: Rules,
): { readonly answer: Answer<E>; readonly notifications: readonly Notification[] } {
  const draft = new IndexedDraft(index, clock, rules)
  draft.sweep()
  const answer = apply(draft, event) as Answer<E>
  return { answer, notifications: draft.notifications }
}

function apply(draft: IndexedDraft, event: Event): Answer<Event> {
  switch (event.kind) {
    case 'claim':
      return claim(draft, event.claim, event.inbox)
    case 'renew':
      return renew(draft, event.id, event.ttlMs)
    case 'release':
      return release(draft, event.id)
    case 'evict':
      return evict(draft, event.token)
    case 'revoke':
      return revoke(draft, event.token)
    case 'tick':
      return null
  }
}

function claim(draft: IndexedDraft, wanted: Claim, inbox: string | null): ClaimAnswer {
  const known = draft.find(wanted.id)
  if (known?.held === true) return reclaim(draft, wanted, known)
  if (wanted.replaces !== null) return adopt(draft, wanted, wanted.replaces, known, inbox)
  const used = usedMode(draft)
  const refusal =
    mismatch(used === undefined ? EMPTY : { ...EMPTY, holds: [{ ...NOBODY, mode: used }] }, wanted) ??
    upgrade(draft, wanted)
  if (refusal !== null) {
    // A refused claim goes away, so it must not keep a position that others wait behind.
    if (known !== undefined) {
      draft.remove(known)
      draft.promote()
    }
    return refusal
  }
  const { summary } = draft.index
  if (
    draft.joins(wanted) ||
    (known === undefined && summary.waiters === 0 && !draft.closed && draft.admits(wanted))
  ) {
    if (known !== undefined) draft.remove(known)
    return granted(draft, draft.grant(wanted, inbox, wanted.ttlMs))
  }
  return block(draft, wanted, inbox, known)
}

const NOBODY = { owner: null, seq: 0, members: [] }

function usedMode(draft: IndexedDraft): Mode | undefined {
  const { mode, limit, waiters } = draft.index.summary
  if (mode !== null) return mode === 'permits' ? { kind: mode, limit, weight: 1 } : { kind: mode }
  return waiters === 0 ? undefined : draft.head()?.mode
}

function upgrade(draft: IndexedDraft, wanted: Claim): Refused | null {
  const own = draft.own(wanted.owner)
  if (own === undefined || covers(own.mode, wanted.mode)) return null
  return refused(
    'upgrade',
    'the owner holds the key already, with less than it now asks for: release that first',
  )
}

/** A claim that holds the key already is the same claim: it is granted again, for its full ttl. */
function reclaim(draft: IndexedDraft, wanted: Claim, known: IndexedClaim): ClaimAnswer {
  if (!covers(known.mode, wanted.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  const { index, clock } = draft
  const expiresAtMs = Math.max(known.expiresAtMs, clock.nowMs + wanted.ttlMs)
  const downgrade = known.mode.kind === 'exclusive' && wanted.mode.kind === 'shared' && !index.isShared(known)
  index.replace(known, { ...known, expiresAtMs, mode: downgrade ? wanted.mode : known.mode })
  if (downgrade) {
    index.summary.mode = 'shared'
    draft.promote()
  }
  return granted(draft, known)
}

function adopt(
  draft: IndexedDraft,
  wanted: Claim,
  givenId: string,
  waiting: IndexedClaim | undefined,
  inbox: string | null,
): ClaimAnswer {
  const given = draft.find(givenId)
  if (given?.held !== true) return refused('absent', 'the lease to adopt is no longer held')
  if (!covers(given.mode, wanted.mode)) {
    return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
  }
  if (waiting !== undefined) draft.remove(waiting)
  const { id, label, actor, meta, ttlMs, lockDelayMs } = wanted
  const { nowMs } = draft.clock
  const adopted: IndexedClaim = {
    ...given,
    ...{ id, label, actor, meta, ttlMs, lockDelayMs, inbox, sinceMs: nowMs, expiresAtMs: nowMs + ttlMs },
    // Claims that share a hold share its token, so only a hold of one claim can move the fence.
    seq: draft.index.isShared(given) ? given.seq : draft.takeSeq(),
  }
  draft.index.replace(given, adopted)
  draft.post(given.inbox, { kind: 'lost', id: givenId, cause: 'adopted' })
  return granted(draft, adopted)
}

function granted(draft: IndexedDraft, { owner, seq }: IndexedClaim): Granted {
  const spare = owner === null ? SPARE_TOKENS : 0
  return { kind: 'granted', token: tokenOf(seq), spare, contended: draft.contended }
}

function block(
  draft: IndexedDraft,
  wanted: Claim,
  inbox: string | null,
  known: IndexedClaim | undefined,
): Blocked {
  const { index, clock } = draft
  const { nowMs } = clock
  let waiting = known
  if (known !== undefined) {
    const expiresAtMs = Math.max(known.expiresAtMs, nowMs + wanted.ttlMs)
    index.replace(known, { ...known, expiresAtMs })
  } else if (wanted.queue && wanted.group === null) {
    if (!draft.contended) tellHolders(draft)
    waiting = draft.join(wanted, inbox)
  }
  const { position, endMs } = placeOf(draft, waiting)
  const [holder] = index.holders(1)
  return {
    kind: 'blocked',
    position,
    retryAfterMs: retryAfterMs(draft, endMs),
    storeTimeMs: nowMs,
    holder: holder === undefined ? null : { label: holder.label, heldMs: nowMs - holder.sinceMs },
  }
}

/** Holders need to know that others wait, because they hand over inside their processes. */
function tellHolders(draft: IndexedDraft): void {
  for (const { inbox, id } of draft.index.holders(MOST_TOLD_OF_CONTENTION))
    draft.post(inbox, { kind: 'contended', id })
}

/** The position of a waiter, and when the first of those before it ends. */
function placeOf(
  { index }: IndexedDraft,
  waiting: IndexedClaim | undefined,
): { readonly position: number; readonly endMs: number | null } {
  if (waiting === undefined) return { position: 0, endMs: index.nextEndMs(false) }
  const { count, endMs } = index.waitersBefore(waiting, MOST_COUNTED_POSITIONS)
  if (count < MOST_COUNTED_POSITIONS) return { position: count + 1, endMs }
  const distance = waiting.ticket - (index.firstTicket() ?? waiting.ticket) + 1
  return { position: Math.min(distance, index.summary.waiters), endMs: index.nextEndMs(false) }
}

/** The claims before this one block it as the holders do, and any of them may expire. */
function retryAfterMs({ index, clock: { nowMs } }: IndexedDraft, waiterEndMs: number | null): number | null {
  const { closedUntilMs } = index.summary
  const closedMs = closedUntilMs > nowMs ? closedUntilMs : null
  const ends = [closedMs, waiterEndMs, index.nextEndMs(true)].filter((atMs) => atMs !== null)
  // Claims that have expired already, and were too many for this step, are removed by the next one.
  return ends.length === 0 ? null : Math.max(0, Math.min(...ends) - nowMs)
}

function renew(draft: IndexedDraft, id: string, ttlMs: number): RenewAnswer {
  const { index, clock } = draft
  const expiresAtMs = clock.nowMs + ttlMs
  const known = draft.find(id)
  if (known === undefined) return { kind: 'lost' }
  // Never shortened: a late duplicate of an older renewal must not cut a newer, longer one.
  if (expiresAtMs > known.expiresAtMs) index.replace(known, { ...known, expiresAtMs })
  if (!known.held)
    return { kind: 'waiting', position: placeOf(draft, known).position, storeTimeMs: clock.nowMs }
  draft.promoteOwn(known.owner)
  return { kind: 'renewed', contended: draft.contended }
}

function release(draft: IndexedDraft, id: string): ReleaseAnswer {
  const known = draft.find(id)
  if (known === undefined) return { kind: 'absent' }
  draft.remove(known)
  draft.promote()
  return { kind: 'released' }
}

function evict(draft: IndexedDraft, token: bigint | null): EvictAnswer {
  const evicted = holdersOf(draft, token)
  if (evicted.length === 0) return { kind: 'absent', labels: [] }
  for (const holder of evicted) {
    draft.remove(holder)
    draft.post(holder.inbox, { kind: 'lost', id: holder.id, cause: 'evicted' })
  }
  draft.takeSeq()
  draft.promote()
  return { kind: 'evicted', labels: evicted.map(({ label }) => label) }
}

function revoke(draft: IndexedDraft, token: bigint | null): EvictAnswer {
  const asked = holdersOf(draft, token)
  for (const { inbox, id } of asked) draft.post(inbox, { kind: 'revoked', id })
  return { kind: asked.length === 0 ? 'absent' : 'evicted', labels: asked.map(({ label }) => label) }
}

/** Without those that are dead already, and were too many for one sweep. */
function holdersOf({ index, clock }: IndexedDraft, token: bigint | null): readonly IndexedClaim[] {
  const found = token === null ? index.holders(Number.MAX_SAFE_INTEGER) : index.holdersWith(seqOf(token))
  return found.filter(({ expiresAtMs }) => expiresAtMs > clock.nowMs)
}

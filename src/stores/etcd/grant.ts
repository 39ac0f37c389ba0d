import { type Claim, covers, type Refused, refused } from '../../model/index.ts'
import type { Compare, Op } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'
import { bind, type StoreContext } from './context.ts'
import type { ClaimValue } from './format.ts'
import { claimAbsent, free, nothingNew, shutsUnchanged, unchanged } from './guards.ts'
import { claimOps, draftHold, endOps, type HoldDraft, holdLeases, listOf, noteHold, removal } from './hold.ts'
import { notificationOp } from './notifications.ts'
import { closingOf, findEntry, membersOf } from './read.ts'
import { type ClaimEntry, obstacleOf, type QueueSnapshot, refusalOf, upgradeRefusal } from './snapshot.ts'

/** How often a decision about a busy key is repeated before the attempt fails. */
export const DECISIONS = 32

/** A hold to write in one transaction, on the condition that what was read is unchanged. */
export interface GrantPlan {
  readonly compare: readonly Compare[]
  /** Operations before those that write the hold. */
  readonly before: readonly Op[]
  /** Null for a hold that this store has already. */
  readonly draft: HoldDraft | null
  /** The create revision of a key that keeps its name, else null. */
  readonly created: number | null
  /** The revision of the grant, where `draft` is null. */
  readonly seq: number
}

export type HoldPlan = GrantPlan & { readonly draft: HoldDraft }

/** The plan of a hold for a claim. */
export async function planHold(
  context: StoreContext,
  claim: Claim,
  compare: readonly Compare[],
  before: readonly Op[] = [],
  more: Pick<ClaimValue, 'granted' | 'seq'> = {},
): Promise<HoldPlan> {
  const draft = draftHold(context, claim, await holdLeases(context, claim), more)
  return { compare, before, draft, created: null, seq: 0 }
}

/** The plan for a claim that the key has room for, or whose owner holds the key already; null if it has to wait. */
export async function planGrant(
  context: StoreContext,
  claim: Claim,
  snapshot: QueueSnapshot,
  own?: ClaimEntry,
): Promise<HoldPlan | Refused | null> {
  const { owner } = claim
  const hold = owner === null ? undefined : snapshot.holds.find(({ value }) => value.owner === owner)
  const refusal = refusalOf(snapshot, claim) ?? (hold === undefined ? null : upgradeRefusal(hold, claim))
  if (refusal !== null) return refusal
  // A named owner joins its hold: past the queue, with the same token.
  if (hold !== undefined) {
    const compare = [unchanged(hold), ...(own === undefined ? claimAbsent(claim) : [unchanged(own)])]
    const before = own === undefined ? [] : removal(claim, own.name)
    return planHold(context, { ...claim, mode: hold.mode }, compare, before, { seq: hold.seq })
  }
  if (own !== undefined) return null
  const { closedBy } = await closingOf(context, snapshot)
  if (obstacleOf(snapshot, claim.mode, Number.POSITIVE_INFINITY, closedBy) !== null) return null
  const shuts = shutsUnchanged(snapshot)
  const room = claim.mode.kind === 'permits' ? [nothingNew(snapshot), ...shuts] : free(claim, shuts)
  return planHold(context, claim, [...room, ...claimAbsent(claim)])
}

/** Takes over a hold in one step. One that several claims share keeps its token; any other gets a new one. */
export async function planAdoption(context: StoreContext, claim: Claim): Promise<HoldPlan | Refused> {
  const given = await findEntry(context, claim.key, claim.replaces ?? '')
  const members = given === undefined ? [] : await membersOf(context, given)
  if (given === undefined || members.length === 0)
    return refused('absent', 'the lease to adopt is no longer held')
  const { mode, seq, value } = given
  if (!covers(mode, claim.mode))
    return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
  const adopter = { ...claim, mode, owner: value.owner ?? null }
  const ends = endOps(given, given.name, value.lockDelayMs !== undefined)
  const before = [...ends, notificationOp('adopted', given)]
  const compare = [unchanged(given), ...claimAbsent(adopter)]
  return planHold(context, adopter, compare, before, members.length === 1 ? {} : { seq })
}

/** Takes over a hold that another connection of this claim wrote, or makes a writer a reader. */
export async function planConversion(
  context: StoreContext,
  claim: Claim,
  own: ClaimEntry,
  members: readonly ClaimEntry[],
): Promise<HoldPlan | Refused> {
  if (!covers(own.mode, claim.mode))
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  const downgrade = own.mode.kind === 'exclusive' && claim.mode.kind === 'shared' && members.length === 1
  const wanted = { ...claim, mode: downgrade ? claim.mode : own.mode, owner: own.value.owner ?? null }
  const order = own.section === 'queue' && !downgrade ? own.order : null
  // Only the process of a `trying` claim knows whether it held at once or later: another one takes a new token.
  const isDue = own.value.state === 'trying' && context.claims.get(claim)?.state !== 'held'
  const since = isDue ? ({ granted: true } as const) : { seq: own.seq }
  const draft = draftHold(context, wanted, await holdLeases(context, wanted), since, order)
  const stays = draft.name === own.name
  const before = stays ? [] : removal(claim, own.name)
  return { compare: [unchanged(own)], before, draft, created: stays ? own.created : null, seq: 0 }
}

/** All operations that a plan writes. */
export function writesOf({ before, draft }: GrantPlan): readonly Op[] {
  return draft === null ? before : [...before, ...claimOps(draft)]
}

/** Writes all plans in one transaction. Null if anything has changed, so that nothing was done. */
export function writeGrants(
  context: StoreContext,
  plans: readonly GrantPlan[],
  look: readonly Op[] = [],
): Promise<{ readonly seqs: readonly number[]; readonly results: readonly OpResult[] } | null> {
  const drafts = plans.flatMap(({ draft }) => draft ?? [])
  const txn = {
    compare: plans.flatMap(({ compare }) => compare),
    success: [...plans.flatMap(writesOf), ...look],
  }
  const lasting = drafts.map(({ claim, leases }) => context.leases.extend(leases.lease, claim.ttlMs))
  const leases = new Set(drafts.flatMap((draft) => listOf(draft.leases)))
  return bind(context, { txn, leases, lasting }, ({ succeeded, results, header: { revision } }) => {
    if (!succeeded) return null
    const noted = ({ draft, created, seq }: GrantPlan): number =>
      draft === null ? seq : noteHold(context, draft, created ?? revision, revision).seq
    return { seqs: plans.map(noted), results }
  })
}

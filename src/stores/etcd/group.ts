import { StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { type StoreContext, withLeases } from './context.ts'
import {
  DECISIONS,
  type GrantPlan,
  planConversion,
  planGrant,
  planHold,
  writeGrants,
  writesOf,
} from './grant.ts'
import { present, untouched } from './guards.ts'
import { granted, rearm } from './hold.ts'
import { blocked, findEntry, membersOf, readSnapshot } from './read.ts'
import { secure } from './rebind.ts'

/** The limit of a transaction, for its compares and for its operations. */
const MOST_OPERATIONS = 128

/** Grants all claims or none, in one transaction over all their keys. A group never joins a queue. */
export async function attemptGroup(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ClaimAnswer[]> {
  const sentAtMs = context.runtime.nowMs()
  const heldBack = (): ClaimAnswer => blocked(context, null, 0, sentAtMs)
  if (new Set(claims.map(({ key }) => key)).size < claims.length) return claims.map(heldBack)
  // The first try assumes that all keys are free, without reading them.
  let planAll = () => Promise.all(claims.map((claim) => planFree(context, claim)))
  for (let decisions = 0; decisions < DECISIONS; decisions++) {
    const answers = await withLeases(async () => {
      const plans = await planAll()
      const refused = plans.findIndex((plan) => 'kind' in plan)
      // A claim of the group may be free by itself, but is not granted without the others.
      if (refused >= 0)
        return plans.map((plan, index) => (index === refused ? (plan as ClaimAnswer) : heldBack()))
      const all = plans as GrantPlan[]
      if (!fitsTransaction(all)) return claims.map(heldBack)
      const written = await writeGrants(context, all)
      return written?.seqs.map((seq, index) => granted(seq, claims[index] as Claim, false)) ?? null
    })
    if (answers !== null) return answers
    planAll = () => Promise.all(claims.map((claim) => plan(context, claim, sentAtMs)))
  }
  throw new StoreError('the keys change too fast for a decision')
}

function planFree(context: StoreContext, claim: Claim): Promise<GrantPlan | ClaimAnswer> {
  return planHold(context, claim, [untouched(claim.key)])
}

/** The plan for one claim of the group, or an answer when it cannot be granted. */
async function plan(context: StoreContext, claim: Claim, sentAtMs: number): Promise<GrantPlan | ClaimAnswer> {
  const snapshot = await readSnapshot(context, claim)
  const own = await findEntry(context, claim.key, claim.id)
  const members = own === undefined ? [] : await membersOf(context, own)
  if (own === undefined || members.length === 0)
    return (await planGrant(context, claim, snapshot)) ?? blocked(context, snapshot, 0, sentAtMs)
  const local = context.claims.get(claim)
  if (local === undefined) return planConversion(context, claim, own, members)
  rearm(context, local, claim.ttlMs)
  await secure(context, local, claim)
  return { compare: [present(own)], before: [], draft: null, created: null, seq: own.seq }
}

function fitsTransaction(plans: readonly GrantPlan[]): boolean {
  const compares = plans.flatMap(({ compare }) => compare).length
  return compares <= MOST_OPERATIONS && plans.flatMap(writesOf).length <= MOST_OPERATIONS
}

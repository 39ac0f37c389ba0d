import { StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { admissible } from './change.ts'
import { bind, type StoreContext, withLeases } from './context.ts'
import { present, unchanged, unknown, untouched } from './guards.ts'
import {
  type Draft,
  draftHold,
  granted,
  holdLeases,
  holdOps,
  listOf,
  noteHold,
  rearm,
  removal,
  secure,
} from './hold.ts'
import { blocked, closingOf, findEntry, membersOf, readSnapshot } from './read.ts'
import { type Entry, obstacleOf, refusalOf, upgradeOf } from './snapshot.ts'
import type { Compare, Op } from './client/requests.ts'

/** What a transaction may have of comparisons, and of operations. */
const MOST_OPERATIONS = 128
const DECISIONS = 32

/** What one claim of a group needs of the transaction that grants all of them. */
interface Part {
  readonly claim: Claim
  readonly compare: readonly Compare[]
  readonly before: readonly Op[]
  /** Null for a claim that holds its key already. */
  readonly draft: Draft | null
  readonly created: number | null
  readonly seq: number
}

/** Claims that are granted together or not at all: one transaction over all their keys. They never join a queue. */
export class Group {
  private readonly context: StoreContext

  constructor(context: StoreContext) {
    this.context = context
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const sentAtMs = this.context.runtime.nowMs()
    const heldBack = (): ClaimAnswer => blocked(this.context, null, 0, sentAtMs)
    if (new Set(claims.map(({ key }) => key)).size < claims.length) return claims.map(heldBack)
    // As if all keys were free, which they mostly are.
    let parts = await Promise.all(claims.map((claim) => this.part(claim, [untouched(claim.key)])))
    for (let decisions = 0; decisions < DECISIONS; decisions++) {
      if (!fitsTransaction(parts)) return claims.map(heldBack)
      if (await withLeases(() => this.write(parts)))
        return parts.map(({ claim, seq }) =>
          granted(this.context.claims.get(claim)?.seq ?? seq, claim, false),
        )
      const decided = await Promise.all(claims.map((claim) => this.decide(claim, sentAtMs)))
      const refused = decided.findIndex((part) => 'kind' in part)
      // Free by itself perhaps, but not granted because another claim of its group was not.
      if (refused >= 0)
        return claims.map((_, index) => (index === refused ? (decided[index] as ClaimAnswer) : heldBack()))
      parts = decided as readonly Part[] as Part[]
    }
    throw new StoreError('the keys change too fast for a decision')
  }

  private async part(claim: Claim, compare: readonly Compare[], hold?: Entry): Promise<Part> {
    const leases = await holdLeases(this.context, claim)
    const more = hold === undefined ? {} : { seq: hold.seq }
    const mode = hold?.mode ?? claim.mode
    const draft = draftHold(this.context, { ...claim, mode }, leases, more)
    return { claim, compare, before: [], draft, created: null, seq: hold?.seq ?? 0 }
  }

  private async write(parts: readonly Part[]): Promise<boolean> {
    const drafts = parts.flatMap(({ draft }) => draft ?? [])
    const txn = {
      compare: parts.flatMap(({ compare }) => compare),
      success: parts.flatMap(({ before, draft }) => [...before, ...(draft === null ? [] : holdOps(draft))]),
      failure: [],
    }
    const lasting = drafts.map(({ claim, leases }) => this.context.leases.fresh(leases.lease, claim.ttlMs))
    const leases = new Set(drafts.flatMap((draft) => listOf(draft.leases)))
    return bind(this.context, { txn, leases, lasting }, ({ succeeded, header }) => {
      const { revision } = header
      for (const { draft, created } of succeeded ? parts : [])
        if (draft !== null) noteHold(this.context, draft, created ?? revision, revision)
      return succeeded
    })
  }

  /** What the claim needs beside what is there; an answer when it cannot be granted. */
  private async decide(claim: Claim, sentAtMs: number): Promise<Part | ClaimAnswer> {
    const snapshot = await readSnapshot(this.context, claim)
    const own = await findEntry(this.context, claim.key, claim.id)
    if (own !== undefined && (await membersOf(this.context, own)).length > 0) return this.ownPart(claim, own)
    const refusal = refusalOf(snapshot, claim)
    if (refusal !== null) return refusal
    const shared =
      claim.owner === null ? undefined : snapshot.holds.find(({ value }) => value.owner === claim.owner)
    if (shared !== undefined)
      return upgradeOf(shared, claim) ?? this.part(claim, [unchanged(shared), ...unknown(claim)], shared)
    const { closedBy } = await closingOf(this.context, snapshot)
    if (obstacleOf(snapshot, claim.mode, Number.POSITIVE_INFINITY, closedBy) !== null)
      return blocked(this.context, snapshot, 0, sentAtMs)
    return this.part(claim, admissible(claim, snapshot))
  }

  /** A claim that the group has already: it is bound to a lease of ours and keeps what it has. */
  private async ownPart(claim: Claim, own: Entry): Promise<Part> {
    const local = this.context.claims.get(claim)
    const { seq } = own
    if (local !== undefined) {
      rearm(this.context, local, claim.ttlMs)
      await secure(this.context, local, claim)
      return { claim, compare: [present(own)], before: [], draft: null, created: null, seq }
    }
    const leases = await holdLeases(this.context, claim)
    const order = own.place === 'queue' ? own.order : null
    const draft = draftHold(this.context, { ...claim, mode: own.mode }, leases, { seq }, order)
    const stays = draft.name === own.name
    const before = stays ? [] : removal(claim, own.name)
    return { claim, compare: [unchanged(own)], before, draft, created: stays ? own.created : null, seq }
  }
}

function fitsTransaction(parts: readonly Part[]): boolean {
  const compares = parts.reduce((sum, { compare }) => sum + compare.length, 0)
  const writes = parts.reduce(
    (sum, { before, draft }) => sum + before.length + (draft === null ? 0 : holdOps(draft).length),
    0,
  )
  return compares <= MOST_OPERATIONS && writes <= MOST_OPERATIONS
}

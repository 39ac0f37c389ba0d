import { type Claim, type ClaimAnswer, covers, refused } from '../../model/index.ts'
import { contendedOp, isContended } from './contention.ts'
import { bind, type StoreContext, withLeases } from './context.ts'
import { free, nothingNew, shutsUnchanged, unchanged, unknown } from './guards.ts'
import {
  type Draft,
  draftHold,
  endOps,
  granted,
  type HoldLeases,
  holdLeases,
  holdOps,
  listOf,
  noteHold,
  removal,
} from './hold.ts'
import { notificationOp } from './notifications.ts'
import { findEntry, membersOf } from './read.ts'
import type { Entry, Snapshot } from './snapshot.ts'
import type { Compare, Op } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'

/** The key had changed when the transaction came: nothing was done. */
export interface Changed {
  readonly kind: 'changed'
}

interface Plan {
  readonly draft: Draft
  readonly compare: readonly Compare[]
  readonly before?: readonly Op[]
  readonly created?: number | undefined
}

/** Holds that come about in another way than by the order of the queue. Each is one transaction on what was seen. */
export class HoldChanges {
  private readonly context: StoreContext

  constructor(context: StoreContext) {
    this.context = context
  }

  /** A claim that the key has room for, as it was seen. */
  admit(claim: Claim, snapshot: Snapshot): Promise<ClaimAnswer | Changed> {
    return this.write(claim, (leases) => ({
      draft: draftHold(this.context, claim, leases),
      compare: admissible(claim, snapshot),
    }))
  }

  /** A named owner joins its hold: past the queue, with the same token. */
  join(claim: Claim, hold: Entry, own: Entry | undefined): Promise<ClaimAnswer | Changed> {
    const { seq, mode } = hold
    return this.write({ ...claim, mode }, (leases) => ({
      draft: draftHold(this.context, { ...claim, mode }, leases, { seq }),
      compare: [unchanged(hold), ...(own === undefined ? unknown(claim) : [unchanged(own)])],
      before: own === undefined ? [] : removal(claim, own.name),
    }))
  }

  /** Takes over a hold in one step. One that several claims share keeps its token; any other gets a new one. */
  async adopt(claim: Claim): Promise<ClaimAnswer | Changed> {
    const given = await findEntry(this.context, claim.key, claim.replaces ?? '')
    const members = given === undefined ? [] : await membersOf(this.context, given)
    if (given === undefined || members.length === 0)
      return refused('absent', 'the lease to adopt is no longer held')
    const { mode, seq, value } = given
    if (!covers(mode, claim.mode))
      return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
    const adopter = { ...claim, mode, owner: value.owner ?? null }
    const delayed = value.lockDelayMs !== undefined
    return this.write(adopter, (leases) => ({
      draft: draftHold(this.context, adopter, leases, members.length === 1 ? {} : { seq }),
      compare: [unchanged(given), ...unknown(adopter)],
      before: [...endOps(given, given.name, delayed), notificationOp('adopted', given)],
    }))
  }

  /** Makes a hold that another connection made ours, or makes a writer a reader. */
  async convert(claim: Claim, own: Entry, members: readonly Entry[]): Promise<ClaimAnswer | Changed> {
    if (!covers(own.mode, claim.mode))
      return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
    const downgrade = own.mode.kind === 'exclusive' && claim.mode.kind === 'shared' && members.length === 1
    const mode = downgrade ? claim.mode : own.mode
    const wanted = { ...claim, mode, owner: own.value.owner ?? null }
    const order = own.place === 'queue' && !downgrade ? own.order : null
    // Whether one that tried holds since it came or since somebody before it left, only its process could tell.
    const isDue = own.value.state === 'trying' && this.context.claims.get(claim)?.state !== 'held'
    const since = isDue ? ({ granted: true } as const) : { seq: own.seq }
    return this.write(wanted, (leases) => {
      const draft = draftHold(this.context, wanted, leases, since, order)
      const stays = draft.name === own.name
      return {
        draft,
        compare: [unchanged(own)],
        before: stays ? [] : removal(claim, own.name),
        created: stays ? own.created : undefined,
      }
    })
  }

  private write(claim: Claim, plan: (leases: HoldLeases) => Plan): Promise<ClaimAnswer | Changed> {
    return withLeases(async () => {
      const leases = await holdLeases(this.context, claim)
      const { draft, compare, before = [], created } = plan(leases)
      const success = [...before, ...holdOps(draft), contendedOp(claim.key, claim.mode.kind)]
      const lasting = [this.context.leases.fresh(leases.lease, claim.ttlMs)]
      const binding = { txn: { compare, success, failure: [] }, leases: listOf(leases), lasting }
      return bind<ClaimAnswer | Changed>(this.context, binding, ({ succeeded, results, header }) => {
        if (!succeeded) return { kind: 'changed' }
        const { revision } = header
        const local = noteHold(this.context, draft, created ?? revision, revision)
        return granted(local.seq, claim, isContended(results.at(-1) as OpResult, claim.id))
      })
    })
  }
}

/** What was seen of the key lets the claim in, and is so still. */
export function admissible(claim: Claim, snapshot: Snapshot): Compare[] {
  const shuts = shutsUnchanged(snapshot)
  if (claim.mode.kind === 'permits') return [nothingNew(snapshot), ...shuts, ...unknown(claim)]
  return [...free(claim, shuts), ...unknown(claim)]
}

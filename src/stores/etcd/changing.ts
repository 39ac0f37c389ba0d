import { type Claim, type ClaimAnswer, covers, refused } from '../../model/index.ts'
import { granted } from './answers.ts'
import { bind, type Desk, withLeases } from './desk.ts'
import { whole } from './fresh.ts'
import { nothingNew, unchanged, unknown } from './guards.ts'
import { type Draft, delayName, draftHold, endOp, holdOps, leasesOf, meansFor, noteHold } from './holding.ts'
import { letterOp } from './inbox.ts'
import { type Entry, type Holding, holdingOf, isDue, type Line, lineOf } from './line.ts'
import { besideZone, lineZone } from './names.ts'
import type { Compare, Op } from './wire/requests.ts'

/** The line had changed when the transaction came: this is how it is now. */
export interface Changed {
  readonly kind: 'changed'
  readonly line: Line
}

/** Holds that come about in another way than by the order of the line. Each is one transaction on what was seen. */
export class Changing {
  private readonly desk: Desk

  constructor(desk: Desk) {
    this.desk = desk
  }

  /** A claim that the line has room for, as it was seen. */
  async admit(claim: Claim, line: Line): Promise<ClaimAnswer | Changed> {
    return this.write(claim, (means) => ({
      draft: draftHold(this.desk, claim, means, lineZone(claim.mode)),
      compare: nothingNew(line),
      before: [],
      line,
    }))
  }

  /** A named owner joins its hold: past the line, with the same token. */
  async join(
    claim: Claim,
    hold: Holding,
    line: Line,
    own: Entry | undefined,
  ): Promise<ClaimAnswer | Changed> {
    const [first] = hold.members as readonly [Entry]
    const { seq, order } = hold
    return this.write(claim, (means) => ({
      draft: draftHold(this.desk, claim, means, besideZone(hold.mode), { seq, order }),
      compare: own === undefined ? [unchanged(first), ...unknown(claim)] : [unchanged(first), unchanged(own)],
      before: own === undefined ? [] : [{ kind: 'delete', key: own.name }],
      line,
    }))
  }

  /** Takes over a hold in one step. One that several claims share keeps its token; any other gets a new one. */
  async adopt(claim: Claim, line: Line): Promise<ClaimAnswer | Changed> {
    const hold = holdingOf(line, claim.replaces ?? '')
    const given = hold?.members.find(({ id }) => id === claim.replaces)
    if (hold === undefined || given === undefined)
      return refused('absent', 'the lease to adopt is no longer held')
    if (!covers(hold.mode, claim.mode))
      return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
    const { order } = hold
    const more = hold.members.length === 1 ? { order } : { order, seq: hold.seq }
    const delay = given.value.lockDelayMs === undefined ? null : delayName(given)
    return this.write({ ...claim, mode: hold.mode }, (means) => ({
      draft: draftHold(this.desk, { ...claim, mode: hold.mode }, means, besideZone(hold.mode), more),
      compare: [unchanged(given), ...unknown(claim)],
      before: [endOp(given.name, delay), letterOp('adopted', given)],
      line,
    }))
  }

  /** Makes a hold that another connection made ours, or makes a writer a reader. */
  async convert(claim: Claim, own: Entry, line: Line): Promise<ClaimAnswer | Changed> {
    const hold = holdingOf(line, own.id)
    if (hold === undefined) return { kind: 'changed', line }
    if (!covers(hold.mode, claim.mode))
      return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
    const { order, seq } = hold
    const downgrade =
      hold.mode.kind === 'exclusive' && claim.mode.kind === 'shared' && hold.members.length === 1
    const mode = downgrade ? claim.mode : hold.mode
    const wanted = { ...claim, mode }
    const zone = downgrade ? besideZone(mode) : own.zone
    const due = isDue(line, own) && this.desk.book.get(claim)?.state !== 'held'
    const since = due ? ({ order, granted: true } as const) : { order, seq }
    return this.write(wanted, (means) => ({
      draft: draftHold(this.desk, wanted, means, zone, since),
      compare: [unchanged(own)],
      before: downgrade ? [{ kind: 'delete', key: own.name }] : [],
      created: downgrade ? undefined : own.created,
      line,
    }))
  }

  private write(
    claim: Claim,
    plan: (means: Draft['means']) => {
      draft: Draft
      compare: readonly Compare[]
      before: readonly Op[]
      created?: number | undefined
      line: Line
    },
  ): Promise<ClaimAnswer | Changed> {
    return withLeases(async () => {
      const means = await meansFor(this.desk, claim)
      const { draft, compare, before, created, line } = plan(means)
      const txn = { compare, success: [...before, ...holdOps(draft)], failure: [whole(claim.key)] }
      const fresh = this.desk.leases.fresh(means.lease, claim.ttlMs)
      const [{ succeeded, results, header }] = await Promise.all([
        bind(this.desk, leasesOf(means), txn),
        fresh,
      ])
      if (!succeeded) {
        return { kind: 'changed', line: lineOf(claim.key, results[0]?.kvs ?? [], header.revision) }
      }
      const known = noteHold(this.desk, draft, created ?? header.revision, header.revision)
      return granted(known.seq, claim, line.waiting.length > 0)
    })
  }
}

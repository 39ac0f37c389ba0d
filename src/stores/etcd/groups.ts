import { StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { blocked, granted } from './answers.ts'
import { secure } from './binding.ts'
import { bind, type Desk, withLeases } from './desk.ts'
import { whole } from './fresh.ts'
import { free, freeForReader, nothingNew, unchanged, unknown } from './guards.ts'
import { type Draft, draftHold, holdOps, leasesOf, meansFor, noteHold } from './holding.ts'
import { decide, type Entry, findEntry, holdingOf, type Line, lineOf } from './line.ts'
import { besideZone } from './names.ts'
import { rearm } from './renewals.ts'
import type { Compare, Op } from './wire/requests.ts'

/** What a transaction may have of comparisons, and of operations. */
const MOST_OPERATIONS = 128
const DECISIONS = 32

/** What one claim of a group needs of the transaction that grants all of them. */
interface Part {
  readonly claim: Claim
  readonly compare: readonly Compare[]
  /** Null for a claim that holds its key already. */
  readonly draft: Draft | null
  readonly seq: number
  readonly contended: boolean
}

/** Claims that are granted together or not at all: one transaction over all their keys. They never join a line. */
export class Groups {
  private readonly desk: Desk

  constructor(desk: Desk) {
    this.desk = desk
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    let parts = await withLeases(() => this.atFirst(claims))
    const sentAtMs = this.desk.runtime.nowMs()
    for (let decisions = 0; decisions < DECISIONS; decisions++) {
      if (!fitsTransaction(parts) || new Set(claims.map(({ key }) => key)).size < claims.length)
        return claims.map(({ key }) => this.heldBack(key, sentAtMs))
      const lines = await this.write(parts)
      if (lines === null) return this.settle(parts)
      const decided = await this.decide(claims, lines, sentAtMs)
      if ('answers' in decided) return decided.answers
      parts = decided.parts
    }
    throw new StoreError('the lines of the keys change too fast for a decision')
  }

  /** As if all keys were free, which they mostly are. */
  private async atFirst(claims: readonly Claim[]): Promise<readonly Part[]> {
    const parts: Part[] = []
    for (const claim of claims) {
      const { key, mode } = claim
      const compare = mode.kind === 'shared' ? [...freeForReader(key), ...unknown(claim)] : free(key)
      parts.push(await this.part(claim, compare))
    }
    return parts
  }

  private async part(claim: Claim, compare: readonly Compare[], line?: Line, hold?: Entry): Promise<Part> {
    const means = await meansFor(this.desk, claim)
    const contended = line !== undefined && line.waiting.length > 0
    if (hold === undefined) {
      return { claim, compare, draft: draftHold(this.desk, claim, means), seq: 0, contended }
    }
    const { seq, order, mode } = hold
    const draft = draftHold(this.desk, claim, means, besideZone(mode), { seq, order })
    return { claim, compare, draft, seq, contended }
  }

  /** Null when everything was written; else the lines as they are. */
  private async write(parts: readonly Part[]): Promise<readonly Line[] | null> {
    const drafts = parts.flatMap(({ draft }) => draft ?? [])
    const txn = {
      compare: parts.flatMap(({ compare }) => compare),
      success: drafts.flatMap(holdOps),
      failure: parts.map(({ claim }): Op => whole(claim.key)),
    }
    const lasting = drafts.map(({ claim, means }) => this.desk.leases.fresh(means.lease, claim.ttlMs))
    const bound = [...new Set(drafts.flatMap(({ means }) => leasesOf(means)))]
    const [{ succeeded, results, header }] = await Promise.all([bind(this.desk, bound, txn), ...lasting])
    if (!succeeded)
      return parts.map(({ claim }, index) => lineOf(claim.key, results[index]?.kvs ?? [], header.revision))
    for (const draft of drafts) noteHold(this.desk, draft, header.revision, header.revision)
    return null
  }

  private async settle(parts: readonly Part[]): Promise<readonly ClaimAnswer[]> {
    return parts.map(({ claim, contended, seq }) =>
      granted(this.desk.book.get(claim)?.seq ?? seq, claim, contended),
    )
  }

  private async decide(
    claims: readonly Claim[],
    lines: readonly Line[],
    sentAtMs: number,
  ): Promise<{ parts: readonly Part[] } | { answers: readonly ClaimAnswer[] }> {
    const parts: Part[] = []
    for (const [index, claim] of claims.entries()) {
      const line = lines[index] as Line
      const own = findEntry(line, claim.id)
      if (own !== undefined && holdingOf(line, claim.id) !== undefined) {
        parts.push(await this.ownPart(claim, own, line))
        continue
      }
      const decision = decide(line, claim)
      if (decision.kind === 'refused' || decision.kind === 'block') {
        const answer = decision.kind === 'refused' ? decision : blocked(line, 0, sentAtMs, this.desk.runtime)
        return {
          answers: claims.map((other) => (other === claim ? answer : this.heldBack(other.key, sentAtMs))),
        }
      }
      const [joined] = decision.kind === 'join' ? decision.hold.members : []
      const compare = joined === undefined ? nothingNew(line) : [unchanged(joined), ...unknown(claim)]
      parts.push(await this.part(claim, compare, line, joined))
    }
    return { parts }
  }

  /** A claim that the group has already: it is bound to a lease of ours and keeps what it has. */
  private async ownPart(claim: Claim, own: Entry, line: Line): Promise<Part> {
    const contended = line.waiting.length > 0
    const known = this.desk.book.get(claim)
    if (known !== undefined) {
      rearm(this.desk, known, claim.ttlMs)
      await secure(this.desk, known, claim)
      return {
        claim,
        compare: [{ target: 'create', key: own.name, is: '=', value: own.created }],
        draft: null,
        seq: own.seq,
        contended,
      }
    }
    const means = await meansFor(this.desk, claim)
    const { seq, order, zone } = own
    const draft = draftHold(this.desk, claim, means, zone, { seq, order })
    return { claim, compare: [unchanged(own)], draft, seq, contended }
  }

  /** Free by itself perhaps, but not granted because another claim of its group was not. */
  private heldBack(key: string, sentAtMs: number): ClaimAnswer {
    return blocked(lineOf(key, [], 0), 0, sentAtMs, this.desk.runtime)
  }
}

function fitsTransaction(parts: readonly Part[]): boolean {
  const compares = parts.reduce((sum, { compare }) => sum + compare.length, 0)
  const puts = parts.reduce((sum, { draft }) => sum + (draft?.means.delay == null ? 1 : 2), 0)
  return compares <= MOST_OPERATIONS && puts <= MOST_OPERATIONS && parts.length <= MOST_OPERATIONS
}

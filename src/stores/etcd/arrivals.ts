import { StoreError } from '../../errors.ts'
import { type Claim, type ClaimAnswer, mismatch } from '../../model/index.ts'
import { blocked, granted } from './answers.ts'
import { rebind } from './binding.ts'
import type { Known, Look } from './book.ts'
import type { Changed, Changing } from './changing.ts'
import { bind, type Desk, withLeases } from './desk.ts'
import { type Fresh, freshOutcome, freshTxn, joinTxn, type Outcome, triesFirst, whole } from './fresh.ts'
import { draftHold, leasesOf, meansFor, noteHold } from './holding.ts'
import type { Lease } from './leases.ts'
import { decide, type Entry, findEntry, holdingOf, type Line, lineOf, stateOf } from './line.ts'
import { claimValue } from './value.ts'
import type { Waiting } from './waiting.ts'
import type { Op } from './wire/requests.ts'
import type { TxnResult } from './wire/responses.ts'

/** How often a decision about a busy line is made again before it counts as unanswered. */
const DECISIONS = 32

/** Claims that this store has not sent before: sent, and settled by what the transaction found. */
export class Arrivals {
  private readonly desk: Desk
  private readonly waiting: Waiting
  private readonly changing: Changing

  constructor(desk: Desk, waiting: Waiting, changing: Changing) {
    this.desk = desk
    this.waiting = waiting
    this.changing = changing
  }

  /** Takes up what another connection, or an earlier life, left in etcd for the claim; null when there is nothing. */
  async find(claim: Claim): Promise<Known | null> {
    const { kvs, header } = await this.desk.client.range(whole(claim.key))
    const line = lineOf(claim.key, kvs, header.revision)
    const own = findEntry(line, claim.id)
    if (own === undefined) return null
    await this.takeUp(claim, own, line)
    return this.desk.book.get(claim) ?? null
  }

  /** New claims of different keys, in one transaction. */
  async together(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const { results, fresh, revision } = await withLeases(() => this.sendFresh(claims))
    return Promise.all(
      fresh.map((each, index) => {
        const outcome = freshOutcome(each, results[index] as TxnResult, revision)
        return this.settled(each, outcome, revision)
      }),
    )
  }

  private async sendFresh(
    claims: readonly Claim[],
  ): Promise<{ results: readonly TxnResult[]; fresh: readonly Fresh[]; revision: number }> {
    const { leases } = this.desk
    const fresh: Fresh[] = []
    for (const claim of claims) fresh.push(await this.prepare(claim))
    const bound = new Set<Lease>()
    const lasting = []
    for (const { claim, draft, waitingLease } of fresh) {
      for (const lease of leasesOf(draft.means)) bound.add(lease)
      if (claim.queue) bound.add(waitingLease)
      lasting.push(leases.fresh(draft.means.lease, claim.ttlMs))
    }
    const txn =
      fresh.length === 1
        ? freshTxn(fresh[0] as Fresh)
        : { compare: [], success: fresh.map((each): Op => ({ kind: 'txn', ...freshTxn(each) })), failure: [] }
    const [answer] = await Promise.all([bind(this.desk, [...bound], txn), ...lasting])
    const results = fresh.length === 1 ? [answer] : answer.results.map((result) => result.txn as TxnResult)
    return { results, fresh, revision: answer.header.revision }
  }

  private async prepare(claim: Claim): Promise<Fresh> {
    const { inbox, runtime } = this.desk
    const means = await meansFor(this.desk, claim)
    const waitingLease = claim.queue ? await this.waiting.leaseFor(claim) : means.lease
    const held = draftHold(this.desk, claim, means)
    const saying = (state: 'trying' | 'waiting') => claimValue(claim, inbox.address, state, runtime.wallMs())
    const draft = triesFirst(claim) ? { ...held, value: saying('trying') } : held
    const waiting = saying('waiting')
    return { claim, draft, waiting, waitingLease }
  }

  private async settled(fresh: Fresh, outcome: Outcome, revision: number): Promise<ClaimAnswer> {
    const { claim, draft } = fresh
    const { sentAtMs } = draft
    if (outcome.kind === 'granted')
      return granted(noteHold(this.desk, draft, revision, revision).seq, claim, false)
    const { line } = outcome
    const own = findEntry(line, claim.id)
    if (outcome.kind === 'seen') return this.decided(claim, line, sentAtMs)
    if (own === undefined) {
      // It only tried, and the line has no room for it.
      await this.undo(draft)
      return mismatch(stateOf(line), claim) ?? blocked(line, 0, sentAtMs, this.desk.runtime)
    }
    const others = { ...line, ...without(line, claim.id) }
    const refusal = mismatch(stateOf(others), claim)
    if (refusal !== null) {
      await this.undo(own)
      return refusal
    }
    if (outcome.kind === 'trying') return this.tried(fresh, own, line)
    return this.entered(fresh, own, line)
  }

  /** A claim for permits has entered the line; whether it holds is known now that everybody before it was seen. */
  private async tried(
    { claim, draft, waiting, waitingLease }: Fresh,
    own: Entry,
    line: Line,
  ): Promise<ClaimAnswer> {
    const { sentAtMs, means } = draft
    if (holdingOf(line, claim.id) !== undefined) {
      const known = noteHold(this.desk, draft, own.created, own.created)
      if (means.delay !== null) await rebind(this.desk, known, means.lease, means.delay)
      return granted(known.seq, claim, line.waiting.length > 0)
    }
    const known = this.waiting.enter(claim, { ...own, value: waiting }, waitingLease, means.lease, sentAtMs)
    return this.orAgain(claim, await this.waiting.sitDown(known))
  }

  private async entered({ claim, draft, waitingLease }: Fresh, own: Entry, line: Line): Promise<ClaimAnswer> {
    const { sentAtMs, means } = draft
    const known = this.waiting.enter(claim, own, waitingLease, means.lease, sentAtMs)
    return this.orAgain(claim, await this.waiting.settle(known, line, sentAtMs))
  }

  /** What becomes of a claim that the transaction did not write, told from the line that it saw. */
  async decided(claim: Claim, seen: Line, sentAtMs: number): Promise<ClaimAnswer> {
    let line = seen
    for (let decisions = 0; decisions < DECISIONS; decisions++) {
      const answer = await this.act(claim, line, sentAtMs)
      if (answer.kind !== 'changed') return answer
      line = answer.line
    }
    throw new StoreError('the line of the key changes too fast for a decision')
  }

  private async act(claim: Claim, line: Line, sentAtMs: number): Promise<ClaimAnswer | Changed> {
    const own = findEntry(line, claim.id)
    if (own !== undefined && holdingOf(line, own.id) !== undefined)
      return this.changing.convert(claim, own, line)
    if (claim.replaces !== null) return this.changing.adopt(claim, line)
    const decision = decide(line, claim)
    switch (decision.kind) {
      case 'refused':
        if (own !== undefined) await this.undo(own)
        return decision
      case 'join':
        return this.changing.join(claim, decision.hold, line, own)
      case 'admit':
        return this.changing.admit(claim, line)
      case 'block':
        if (own !== undefined) return this.takeUpWaiting(claim, own, line, sentAtMs)
        return claim.queue ? this.queue(claim) : blocked(line, 0, sentAtMs, this.desk.runtime)
    }
  }

  /** Enters the line, as a claim of a named owner that can neither join nor be admitted. */
  private async queue(claim: Claim): Promise<ClaimAnswer | Changed> {
    return withLeases(async () => {
      const fresh = await this.prepare(claim)
      const { succeeded, results, header } = await bind(this.desk, [fresh.waitingLease], joinTxn(fresh))
      const line = lineOf(claim.key, results.at(-1)?.kvs ?? [], header.revision)
      const own = findEntry(line, claim.id)
      if (!succeeded || own === undefined) return { kind: 'changed', line }
      return this.entered(fresh, own, line)
    })
  }

  private async takeUp(claim: Claim, own: Entry, line: Line): Promise<unknown> {
    const { runtime } = this.desk
    if (holdingOf(line, own.id) !== undefined)
      return this.changing.convert({ ...claim, mode: own.mode }, own, line)
    return this.takeUpWaiting(claim, own, line, runtime.nowMs())
  }

  /** A place in the line that another connection took: its lease may end with that, so it is bound to one of ours. */
  private async takeUpWaiting(
    claim: Claim,
    own: Entry,
    line: Line,
    sentAtMs: number,
  ): Promise<ClaimAnswer | Changed> {
    const fresh = await this.prepare(claim)
    const { leases } = this.desk
    const lease = leases.find(own.lease) ?? fresh.waitingLease
    const known = this.waiting.enter(
      claim,
      { ...own, value: fresh.waiting },
      lease,
      fresh.draft.means.lease,
      sentAtMs,
    )
    if (lease.id === own.lease) return this.orAgain(claim, await this.waiting.settle(known, line, sentAtMs))
    return this.orAgain(claim, await this.waiting.sitDown(known))
  }

  /** A claim whose key was gone before it was settled begins anew. */
  private async orAgain(claim: Claim, look: Look): Promise<ClaimAnswer> {
    if (look.kind !== 'gone') return look
    return (await this.together([claim]))[0] as ClaimAnswer
  }

  /** A claim in the line that must not stay there. It has nothing yet that could close the key. */
  private async undo({ name }: Pick<Entry, 'name'>): Promise<void> {
    await this.desk.client.txn({ compare: [], success: [{ kind: 'delete', key: name }], failure: [] })
  }
}

function without(line: Line, id: string): Pick<Line, 'holds' | 'offered' | 'waiting'> {
  const others = (entry: Entry): boolean => entry.id !== id
  return {
    holds: line.holds
      .map((hold) => ({ ...hold, members: hold.members.filter(others) }))
      .filter(({ members }) => members.length > 0),
    offered: line.offered.filter(others),
    waiting: line.waiting.filter(others),
  }
}

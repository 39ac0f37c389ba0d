import { covers } from './admission.ts'
import type { IndexedClaim, KeyIndex } from './key-index.ts'
import { nextSeq, SPARE_TOKENS, tokenOf } from './token.ts'
import type { Claim, Clock, Mode, Notice, Notification, Rules } from './types.ts'

/** The most expired claims that one step removes; the next steps remove the rest. */
const MOST_REMOVED = 256

type Candidate = Pick<Claim, 'id' | 'mode' | 'owner' | 'actor' | 'label' | 'meta' | 'ttlMs' | 'lockDelayMs'>

/** The position of a claim among those of its key. */
type Rank = Pick<IndexedClaim, 'held' | 'hold' | 'ticket' | 'mode' | 'seq'>

/** Changes a key through its index. */
export class IndexedDraft {
  readonly index: KeyIndex
  readonly clock: Clock
  readonly notifications: Notification[] = []
  private readonly rules: Rules
  private offers = 0
  /** Owners that may now hold what their other claims wait for, each with the first such claim once it is known. */
  private readonly owners = new Map<string, IndexedClaim | null>()

  constructor(index: KeyIndex, clock: Clock, rules: Rules) {
    this.index = index
    this.clock = clock
    this.rules = rules
  }

  /** Removes expired claims, then admits the waiters that now fit. */
  sweep(): void {
    const over = [...this.index.expired(this.clock.nowMs, MOST_REMOVED)]
    over.sort((one, other) => one.hold - other.hold || one.ticket - other.ticket)
    for (const claim of over) this.end(claim)
    this.promote()
  }

  /** Admits the head of the queue while it fits, up to `mostOffers`; these grants are offers. */
  promote(): void {
    if (this.closed) return
    while (this.contended && this.offers < this.rules.mostOffers) {
      const head = this.head()
      if (head === undefined) return
      const next = this.admits(head) ? head : this.firstJoining()
      if (next === undefined) return
      this.offers++
      this.remove(next)
      if (next.owner !== null) this.owners.set(next.owner, null)
      const lifeMs = Math.min(next.ttlMs, this.rules.offerMs)
      const { id, owner, seq } = this.grant(next, next.inbox, lifeMs)
      this.post(next.inbox, {
        kind: 'granted',
        id,
        token: tokenOf(seq),
        spare: owner === null ? SPARE_TOKENS : 0,
        contended: this.contended,
        storeTimeMs: this.clock.nowMs,
        lifeMs,
      })
    }
  }

  /** Continues where an earlier step reached `mostOffers` and left claims of a holding owner in the queue. */
  promoteOwn(owner: string | null): void {
    if (owner === null || !this.contended) return
    this.owners.set(owner, null)
    this.promote()
  }

  /** The first live claim of the queue. */
  head(): IndexedClaim | undefined {
    for (let removed = 0; removed < MOST_REMOVED; removed++) {
      const head = this.index.head()
      if (head === undefined) return undefined
      if (this.isAlive(head) && this.index.isGone?.(head) !== true) return head
      this.remove(head)
    }
    return undefined
  }

  find(id: string): IndexedClaim | undefined {
    const claim = this.index.find(id)
    if (claim === undefined || this.isAlive(claim)) return claim
    this.end(claim)
    return undefined
  }

  /** A live claim of the hold that a claim of that owner would join. */
  own(owner: string | null): IndexedClaim | undefined {
    if (owner === null || this.index.summary.holders === 0) return undefined
    for (;;) {
      const own = this.index.ownHold(owner)
      if (own === undefined || this.isAlive(own)) return own
      this.end(own)
    }
  }

  /** True if a claim at the head of the queue could be granted now; an owner that holds less releases that first. */
  admits({ owner, mode }: Pick<Claim, 'owner' | 'mode'>): boolean {
    const own = this.own(owner)
    return own === undefined ? this.fits(mode) : covers(own.mode, mode)
  }

  joins({ owner, mode }: Pick<Claim, 'owner' | 'mode'>): boolean {
    const own = this.own(owner)
    return own !== undefined && covers(own.mode, mode)
  }

  /** Makes the claim a holder for `lifeMs`; a named owner joins its own hold and keeps that hold's token. */
  grant(claim: Candidate, inbox: string | null, lifeMs: number): IndexedClaim {
    const { summary } = this.index
    const own = this.own(claim.owner)
    const ticket = ++summary.lastTicket
    const { hold, mode, seq } = own ?? { hold: ticket, mode: claim.mode, seq: this.takeSeq() }
    const holder = this.rowOf(claim, inbox, lifeMs, { held: true, hold, ticket, mode, seq })
    this.index.add(holder)
    summary.holders++
    if (own === undefined) {
      summary.mode = claim.mode.kind
      if (claim.mode.kind === 'permits') {
        summary.limit = claim.mode.limit
        summary.used += claim.mode.weight
      }
    }
    return holder
  }

  /** Gives the claim the last position of the queue. */
  join(claim: Candidate, inbox: string | null): IndexedClaim {
    const { summary } = this.index
    const ticket = ++summary.lastTicket
    const { mode, ttlMs } = claim
    const waiter = this.rowOf(claim, inbox, ttlMs, { held: false, hold: 0, ticket, mode, seq: 0 })
    this.index.add(waiter)
    summary.waiters++
    return waiter
  }

  /** Takes a claim out of the key, whether it holds or waits. */
  remove(claim: IndexedClaim): void {
    const { index } = this
    const { summary } = index
    if (!claim.held) {
      index.remove(claim)
      summary.waiters--
      if (claim.owner !== null && this.owners.has(claim.owner)) this.owners.set(claim.owner, null)
      return
    }
    const holdEnds = claim.owner === null || !index.isShared(claim)
    index.remove(claim)
    summary.holders--
    if (holdEnds && claim.mode.kind === 'permits') summary.used -= claim.mode.weight
    if (summary.holders === 0) summary.mode = null
  }

  takeSeq(): number {
    const { summary } = this.index
    summary.seq = nextSeq(summary.seq, this.clock.stampUs)
    summary.seqKeptUntilMs = this.clock.nowMs + this.rules.keepSeqMs
    return summary.seq
  }

  post(inbox: string | null, notice: Notice): void {
    this.notifications.push({ inbox, notice })
  }

  get closed(): boolean {
    return this.index.summary.closedUntilMs > this.clock.nowMs
  }

  get contended(): boolean {
    return this.index.summary.waiters > 0
  }

  /** Removes an expired claim. */
  private end(claim: IndexedClaim): void {
    this.remove(claim)
    if (!claim.held) return
    const { id, inbox, expiresAtMs, lockDelayMs } = claim
    this.post(inbox, { kind: 'lost', id, cause: 'expired' })
    const { summary } = this.index
    if (lockDelayMs > 0) summary.closedUntilMs = Math.max(summary.closedUntilMs, expiresAtMs + lockDelayMs)
  }

  private fits(mode: Mode): boolean {
    const { summary } = this.index
    switch (mode.kind) {
      case 'exclusive':
        return summary.holders === 0
      case 'shared':
        return summary.mode === null || summary.mode === 'shared'
      case 'permits':
        return summary.used + mode.weight <= mode.limit
    }
  }

  /** The first waiter whose owner was admitted meanwhile: it overtakes the queue. */
  private firstJoining(): IndexedClaim | undefined {
    let first: IndexedClaim | undefined
    for (const [owner, known] of this.owners) {
      const candidate = known ?? this.firstOf(owner)
      if (candidate === undefined) {
        this.owners.delete(owner)
        continue
      }
      if (known === null) this.owners.set(owner, candidate)
      if (first === undefined || candidate.ticket < first.ticket) first = candidate
    }
    return first
  }

  private firstOf(owner: string): IndexedClaim | undefined {
    const own = this.own(owner)
    if (own === undefined) return undefined
    for (;;) {
      const first = this.index.firstOf(owner, own.mode)
      if (first === undefined || this.isAlive(first)) return first
      this.remove(first)
    }
  }

  /** Field by field: spreading objects costs as much as a database statement. */
  private rowOf(claim: Candidate, inbox: string | null, lifeMs: number, rank: Rank): IndexedClaim {
    const { id, owner, actor, label, meta, ttlMs, lockDelayMs } = claim
    const { held, hold, ticket, mode, seq } = rank
    const { nowMs: sinceMs } = this.clock
    const expiresAtMs = sinceMs + lifeMs
    return {
      id,
      held,
      hold,
      ticket,
      mode,
      seq,
      owner,
      actor,
      label,
      meta,
      ttlMs,
      lockDelayMs,
      inbox,
      sinceMs,
      expiresAtMs,
    }
  }

  private isAlive({ expiresAtMs }: IndexedClaim): boolean {
    return expiresAtMs > this.clock.nowMs
  }
}

import { covers, fits, ownHold } from './admission.ts'
import { nextSeq, SPARE_TOKENS, tokenOf } from './token.ts'
import type {
  Claim,
  Clock,
  Hold,
  KeyState,
  Member,
  Notice,
  Notification,
  QueuedClaim,
  Rules,
} from './types.ts'

const NO_NOTIFICATIONS: readonly Notification[] = []

/** A state being changed. Its arrays are replaced, never mutated, so the state it came from stays as it was. */
export class KeyDraft {
  holds: readonly Hold[]
  queue: readonly QueuedClaim[]
  seq: number
  seqKeptUntilMs: number
  closedUntilMs: number
  notifications: readonly Notification[] = NO_NOTIFICATIONS
  private readonly clock: Clock
  private readonly rules: Rules
  private offers = 0

  constructor(state: KeyState, clock: Clock, rules: Rules) {
    this.holds = state.holds
    this.queue = state.queue
    this.seq = state.seq
    this.seqKeptUntilMs = state.seqKeptUntilMs
    this.closedUntilMs = state.closedUntilMs
    this.clock = clock
    this.rules = rules
  }

  finish(): KeyState {
    const { holds, queue, seq, seqKeptUntilMs, closedUntilMs } = this
    return { holds, queue, seq, seqKeptUntilMs, closedUntilMs }
  }

  /** Removes expired claims, then admits the waiters that now fit. */
  sweep(): void {
    const { nowMs } = this.clock
    if (this.queue.length > 0 && this.queue.some((waiter) => waiter.expiresAtMs <= nowMs)) {
      this.queue = this.queue.filter((waiter) => waiter.expiresAtMs > nowMs)
    }
    if (this.holds.some((hold) => hold.members.some((member) => member.expiresAtMs <= nowMs)))
      this.expireHolds()
    this.promote()
  }

  /** Admits the head of the queue while it fits, up to `mostOffers`; these grants are offers. */
  promote(): void {
    if (this.queue.length === 0 || this.closed) return
    while (this.offers < this.rules.mostOffers) {
      const next = this.queue.find((waiter, index) =>
        index === 0 ? this.admits(waiter.claim) : this.joins(waiter.claim),
      )
      if (next === undefined) return
      this.offers++
      this.queue = this.queue.filter((waiter) => waiter !== next)
      const lifeMs = Math.min(next.claim.ttlMs, this.rules.offerMs)
      const hold = this.grant(next.claim, next.inbox, lifeMs)
      this.post(next.inbox, {
        kind: 'granted',
        id: next.claim.id,
        token: tokenOf(hold.seq),
        spare: spareOf(hold),
        contended: this.contended,
        storeTimeMs: this.clock.nowMs,
        lifeMs,
      })
    }
  }

  /** True if a claim at the head of the queue could be granted now; an owner that holds less releases that first. */
  admits(claim: Claim): boolean {
    if (this.closed) return false
    const own = ownHold(this.holds, claim)
    return own === undefined ? fits(claim.mode, this.holds) : covers(own.mode, claim.mode)
  }

  joins(claim: Claim): boolean {
    const own = ownHold(this.holds, claim)
    return own !== undefined && covers(own.mode, claim.mode)
  }

  /** Makes the claim a holder for `lifeMs`; a named owner joins its own hold and keeps that hold's token. */
  grant(claim: Claim, inbox: string | null, lifeMs: number): Hold {
    const member = this.memberOf(claim, inbox, lifeMs)
    const own = ownHold(this.holds, claim)
    if (own !== undefined) {
      const joined = { ...own, members: [...own.members, member] }
      this.replaceHold(own, joined)
      return joined
    }
    const hold: Hold = { owner: claim.owner, mode: claim.mode, seq: this.takeSeq(), members: [member] }
    this.holds = this.holds.length === 0 ? [hold] : [...this.holds, hold]
    return hold
  }

  takeSeq(): number {
    this.seq = nextSeq(this.seq, this.clock.stampUs)
    this.seqKeptUntilMs = this.clock.nowMs + this.rules.keepSeqMs
    return this.seq
  }

  memberOf(claim: Claim, inbox: string | null, lifeMs: number): Member {
    const { id, label, actor, meta, lockDelayMs } = claim
    const { nowMs } = this.clock
    return { id, expiresAtMs: nowMs + lifeMs, sinceMs: nowMs, label, actor, meta, lockDelayMs, inbox }
  }

  replaceHold(old: Hold, replacement: Hold | null): void {
    this.holds =
      replacement === null
        ? this.holds.filter((hold) => hold !== old)
        : this.holds.map((hold) => (hold === old ? replacement : hold))
  }

  /** Replaces one member of a hold, or drops it; a hold without members is over. */
  replaceMember(hold: Hold, old: Member, replacement: Member | null): void {
    const members =
      replacement === null
        ? hold.members.filter((member) => member !== old)
        : hold.members.map((member) => (member === old ? replacement : member))
    this.replaceHold(hold, members.length === 0 ? null : { ...hold, members })
  }

  find(id: string): { hold: Hold; member: Member } | undefined {
    for (const hold of this.holds) {
      for (const member of hold.members) if (member.id === id) return { hold, member }
    }
    return undefined
  }

  /** Removes a claim from the queue; false if it was not in it. */
  leave(id: string): boolean {
    const rest = this.queue.filter((waiter) => waiter.claim.id !== id)
    if (rest.length === this.queue.length) return false
    this.queue = rest
    return true
  }

  post(inbox: string | null, notice: Notice): void {
    this.notifications = [...this.notifications, { inbox, notice }]
  }

  get closed(): boolean {
    return this.closedUntilMs > this.clock.nowMs
  }

  get contended(): boolean {
    return this.queue.length > 0
  }

  private expireHolds(): void {
    const { nowMs } = this.clock
    const alive: Hold[] = []
    for (const hold of this.holds) {
      const members = hold.members.filter((member) => member.expiresAtMs > nowMs)
      for (const member of hold.members) {
        if (member.expiresAtMs > nowMs) continue
        this.post(member.inbox, { kind: 'lost', id: member.id, cause: 'expired' })
        this.closedUntilMs = Math.max(this.closedUntilMs, lockDelayEnd(member))
      }
      if (members.length === hold.members.length) alive.push(hold)
      else if (members.length > 0) alive.push({ ...hold, members })
    }
    this.holds = alive
  }
}

/** A hold that several claims may share has one token and no spare ones. */
export function spareOf(hold: Hold): number {
  return hold.owner === null ? SPARE_TOKENS : 0
}

function lockDelayEnd(member: Member): number {
  return member.lockDelayMs === 0 ? 0 : member.expiresAtMs + member.lockDelayMs
}

import type { Claim, ClaimAnswer, Mode, Notice } from '../../src/model/index.ts'
import type { Step } from './explore.ts'

/** A claimant that was told it holds the key and has not been told otherwise. */
export interface Believer {
  readonly claim: Claim
  untilMs: number
}

/** Believers that were given the same token. */
export interface BelievedHold {
  token: bigint
  readonly owner: string | null
  mode: Mode
  believers: Believer[]
}

export interface BelievedWaiter {
  readonly claim: Claim
  untilMs: number
}

/**
 * The claimants' knowledge, from answers, notifications and their clocks alone. It never looks into a state, so it
 * can bear witness against one.
 */
export class Ledger {
  holds: BelievedHold[] = []
  queue: BelievedWaiter[] = []
  closedUntilMs = 0
  /** Every token that began a hold, in the order of the grants. */
  readonly tokens: bigint[] = []

  /** Removes the expired claims, which know it by their clocks. Returns the holders among them. */
  pass(nowMs: number): string[] {
    const expired: string[] = []
    for (const hold of this.holds) {
      for (const { claim, untilMs } of hold.believers) {
        if (untilMs > nowMs) continue
        expired.push(claim.id)
        if (claim.lockDelayMs > 0)
          this.closedUntilMs = Math.max(this.closedUntilMs, untilMs + claim.lockDelayMs)
      }
      hold.believers = hold.believers.filter((believer) => believer.untilMs > nowMs)
    }
    this.dropEmpty()
    this.queue = this.queue.filter((waiter) => waiter.untilMs > nowMs)
    return expired
  }

  /** Takes in what a step told the claimants. */
  learn(step: Step): void {
    const { event, answer, clock } = step
    const given =
      event.kind === 'claim' && event.claim.replaces !== null ? this.holdOf(event.claim.replaces) : undefined
    for (const { notice } of step.notifications) this.read(notice)
    if (event.kind === 'claim') this.answered(event.claim, answer as ClaimAnswer, clock.nowMs, given)
    if (event.kind === 'release') this.forget(event.id)
    if (event.kind === 'renew' && (answer?.kind === 'renewed' || answer?.kind === 'waiting')) {
      const known = answer.kind === 'renewed' ? this.believer(event.id) : this.waiter(event.id)
      if (known !== undefined) known.untilMs = Math.max(known.untilMs, clock.nowMs + event.ttlMs)
    }
    this.dropEmpty()
  }

  holdOf(id: string): BelievedHold | undefined {
    return this.holds.find((hold) => hold.believers.some((believer) => believer.claim.id === id))
  }

  believer(id: string): Believer | undefined {
    return this.holdOf(id)?.believers.find((believer) => believer.claim.id === id)
  }

  waiter(id: string): BelievedWaiter | undefined {
    return this.queue.find((waiter) => waiter.claim.id === id)
  }

  ownHold(claim: Claim): BelievedHold | undefined {
    return claim.owner === null ? undefined : this.holds.find((hold) => hold.owner === claim.owner)
  }

  private read(notice: Notice): void {
    if (notice.kind === 'lost') this.forget(notice.id)
    if (notice.kind !== 'granted') return
    const waiter = this.waiter(notice.id)
    if (waiter === undefined || notice.token === null)
      throw new Error(`granted to ${notice.id}, which does not wait`)
    this.enter(waiter.claim, notice.token, notice.storeTimeMs + notice.lifeMs)
  }

  private answered(claim: Claim, answer: ClaimAnswer, nowMs: number, given: BelievedHold | undefined): void {
    if (answer.kind === 'refused') this.queue = this.queue.filter((waiter) => waiter.claim.id !== claim.id)
    if (answer.kind === 'blocked') this.wait(claim, answer.position, nowMs + claim.ttlMs)
    if (answer.kind !== 'granted' || answer.token === null) return
    const untilMs = nowMs + claim.ttlMs
    const hold = this.holdOf(claim.id)
    if (hold !== undefined) this.again(hold, claim, untilMs)
    else if (given !== undefined) this.takeOver(given, claim, answer.token, untilMs)
    else this.enter(claim, answer.token, untilMs)
  }

  /** A resent claim is granted for its full ttl; one that now asks for less gives the rest away. */
  private again(hold: BelievedHold, claim: Claim, untilMs: number): void {
    const alone = hold.believers.length === 1
    if (alone && hold.mode.kind === 'exclusive' && claim.mode.kind === 'shared') hold.mode = claim.mode
    hold.believers = hold.believers.map((old) =>
      old.claim.id === claim.id
        ? { claim: { ...old.claim, mode: claim.mode }, untilMs: Math.max(old.untilMs, untilMs) }
        : old,
    )
  }

  private enter(claim: Claim, token: bigint, untilMs: number): void {
    this.queue = this.queue.filter((waiter) => waiter.claim.id !== claim.id)
    const joined = this.holds.find((hold) => hold.token === token)
    if (joined !== undefined) joined.believers.push({ claim, untilMs })
    else {
      this.holds.push({ token, owner: claim.owner, mode: claim.mode, believers: [{ claim, untilMs }] })
      this.tokens.push(token)
    }
  }

  private takeOver(given: BelievedHold, claim: Claim, token: bigint, untilMs: number): void {
    if (given.token !== token) this.tokens.push(token)
    given.token = token
    given.believers.push({ claim, untilMs })
  }

  private wait(claim: Claim, position: number, untilMs: number): void {
    const known = this.waiter(claim.id)
    if (known !== undefined) known.untilMs = Math.max(known.untilMs, untilMs)
    else if (position > 0) this.queue.push({ claim, untilMs })
  }

  private forget(id: string): void {
    for (const hold of this.holds)
      hold.believers = hold.believers.filter((believer) => believer.claim.id !== id)
    this.queue = this.queue.filter((waiter) => waiter.claim.id !== id)
  }

  private dropEmpty(): void {
    this.holds = this.holds.filter((hold) => hold.believers.length > 0)
  }
}

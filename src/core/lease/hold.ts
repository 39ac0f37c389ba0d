import { LeaseLostError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import type { Grant } from '../acquire/grant.ts'
import type { LockEvents } from '../events.ts'
import type { StoreNotice } from '../store.ts'
import type { RenewalBatch } from './renewal-schedule.ts'

export type EndCause = LockEvents['lost']['cause']

/** Whoever uses a hold: the lease in the hands of user code. */
export interface HoldUser {
  holdLost(cause: EndCause, error: LeaseLostError): void
  holdRevoked(): void
}

/** Who looks after a hold. */
export interface HoldKeeper {
  notice(hold: LocalHold, notice: StoreNotice): void
}

/** The part of a time to live that clocks running at different rates, and rounding, may eat. */
export function driftMs(durationMs: number): number {
  return Math.ceil(durationMs * 0.01) + 2
}

/** A claim that the store granted to this process, with its own deadline. The watchdog keeps it alive. */
export class LocalHold {
  claim: Claim
  readonly token: bigint | null
  readonly spare: number
  readonly userKey: string
  contended: boolean
  contendedSinceMs: number
  validUntilMs: number
  /** What the store grants from each renewal on; smaller while an offer is not confirmed. */
  lifeMs: number
  /** When the next renewal is due; Infinity when none is wanted. */
  renewAtMs = Number.POSITIVE_INFINITY
  /** No renewal is sent after this. */
  renewUntilMs = Number.POSITIVE_INFINITY
  autoRenew: boolean
  /** Why the outcome of the last renewal is unknown, if it is. */
  renewError: unknown = null
  /** The event loop stood still or the machine slept: not trusted until a renewal proves it. */
  doubted = false
  ended = false
  /** Whether notices find it by the claim's id. */
  listed = false
  user: HoldUser | null = null
  /** How often it was handed over inside this process. */
  handovers = 0
  /** Those that it is renewed together with, and its place among them: the watchdog's. */
  batch: RenewalBatch | null = null
  batchIndex = -1
  private readonly keeper: HoldKeeper

  constructor(
    claim: Claim,
    userKey: string,
    grant: Grant,
    autoRenew: boolean,
    nowMs: number,
    keeper: HoldKeeper,
  ) {
    this.claim = claim
    this.userKey = userKey
    this.token = grant.token
    this.spare = grant.spare
    this.contended = grant.contended
    this.contendedSinceMs = nowMs
    this.validUntilMs = grant.validUntilMs
    this.lifeMs = grant.lifeMs
    this.autoRenew = autoRenew
    this.keeper = keeper
  }

  /** From now on it stands in the store as this. */
  become(claim: Claim): void {
    this.claim = claim
    this.batch?.forgetClaims()
  }

  notice(notice: StoreNotice): void {
    this.keeper.notice(this, notice)
  }

  /** A renewal under way; settles, never rejects. */
  get renewing(): Promise<void> | null {
    return this.batch === null ? null : this.batch.renewing
  }

  /** The store may still keep it, but a renewal that is overdue by a third of the life proves nothing any more. */
  trusted(nowMs: number): boolean {
    if (this.ended || this.doubted || nowMs >= this.validUntilMs) return false
    return nowMs <= this.renewAtMs + this.lifeMs / 3 || this.renewing !== null
  }

  remainingMs(nowMs: number): number {
    return this.ended ? 0 : Math.max(0, this.validUntilMs - nowMs)
  }

  noteContended(nowMs: number, contended: boolean): void {
    if (contended && !this.contended) this.contendedSinceMs = nowMs
    this.contended = contended
  }
}

/** Whether a hold has enough life left for a new user. */
export function isFresh(hold: LocalHold, nowMs: number): boolean {
  return nowMs + hold.lifeMs / 2 <= hold.validUntilMs
}

const WHY: Record<EndCause, string> = {
  deadline: 'it could not be renewed in time',
  expired: 'the store no longer knows it',
  evicted: 'an operator evicted it',
  adopted: 'another process adopted it',
  closed: 'the locks were closed',
}

export function lostError(key: string, cause: EndCause): LeaseLostError {
  return new LeaseLostError(key, WHY[cause])
}

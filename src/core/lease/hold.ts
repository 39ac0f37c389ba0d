import { LeaseLostError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import type { Grant } from '../acquire/grant.ts'
import type { LockEvents } from '../events.ts'
import type { StoreNotice } from '../store.ts'
import type { RenewalBatch } from './renewal-schedule.ts'

export type EndCause = LockEvents['lost']['cause']

/** The user of a hold: a lease, or the leases that share it. */
export interface HoldUser {
  holdLost(cause: EndCause, error: LeaseLostError): void
  holdRevoked(): void
}

/** Handles the notices about a hold. */
export interface HoldKeeper {
  notice(hold: LocalHold, notice: StoreNotice): void
}

/** The safety margin of a time to live, for clock drift and rounding. */
export function driftMs(durationMs: number): number {
  return Math.ceil(durationMs * 0.01) + 2
}

/** A granted claim of this process, with its own deadline. The watchdog keeps it alive. */
export class LocalHold {
  claim: Claim
  readonly token: bigint | null
  readonly spare: number
  readonly userKey: string
  contended: boolean
  contendedSinceMs: number
  validUntilMs: number
  /** The life that each renewal grants; smaller while an offer is not confirmed. */
  lifeMs: number
  /** The due time of the next renewal; Infinity if there is none. */
  renewAtMs = Number.POSITIVE_INFINITY
  /** No renewal is sent after this. */
  renewUntilMs = Number.POSITIVE_INFINITY
  autoRenew: boolean
  /** The error of the last renewal, if its outcome is unknown. */
  renewError: unknown = null
  /** The event loop stood still or the machine slept: not trusted until a renewal proves it. */
  doubted = false
  ended = false
  /** Notices find it by the claim's id. */
  listed = false
  user: HoldUser | null = null
  /** The number of handovers inside this process. */
  handovers = 0
  /** Its renewal batch, and its index in it: the watchdog's. */
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

  /** Replaces the claim: from now on the store has it like this. */
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

  /** False once a renewal is overdue by a third of the life, although the store may still keep the hold. */
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

/** True if a hold has enough life left for a new user. */
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

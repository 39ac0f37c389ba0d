import type { HoldMeter, LockEvents } from '../index.ts'
import { Histogram, type Labels, PLACES, SECONDS, type Taps } from './histogram.ts'

export type Why = LockEvents['turnedAway']['why']
export type Cause = LockEvents['lost']['cause']
export type CallKind = LockEvents['storeCall']['call']

/** The counts of the keys of one pattern. */
export class Series implements HoldMeter {
  readonly pattern: string
  granted = 0
  handedOver = 0
  renewed = 0
  renewFailed = 0
  releasedInTime = 0
  releasedExpired = 0
  releaseFailed = 0
  revoked = 0
  readonly turnedAway: Record<Why, number> = { timeout: 0, busy: 0, cancelled: 0, failed: 0 }
  readonly lost: Record<Cause, number> = { deadline: 0, expired: 0, evicted: 0, adopted: 0, closed: 0 }
  /** Seconds until the key was granted, or until the wait for it ended in a timeout. */
  readonly wait: Histogram
  /** Seconds from the grant to the release or the loss. */
  readonly hold: Histogram
  /** Positions in the store's queue at the time of joining. */
  readonly place: Histogram

  constructor(pattern: string, taps: Taps) {
    const labels: Labels = { pattern }
    this.pattern = pattern
    this.wait = new Histogram('holdfast_wait_seconds', labels, SECONDS, taps)
    this.hold = new Histogram('holdfast_hold_seconds', labels, SECONDS, taps)
    this.place = new Histogram('holdfast_line_place', labels, PLACES, taps)
  }

  /** Called by the watched locks. */
  released(heldMs: number, outcome: 'released' | 'expired'): void {
    if (outcome === 'released') this.releasedInTime++
    else this.releasedExpired++
    this.hold.add(heldMs / 1000)
  }
}

/** The counts of one kind of call to one kind of store. */
export class CallSeries {
  readonly labels: Labels
  calls = 0
  failures = 0
  claims = 0
  readonly seconds: Histogram

  constructor(store: string, call: CallKind, taps: Taps) {
    this.labels = { store, call }
    this.seconds = new Histogram('holdfast_store_call_seconds', this.labels, SECONDS, taps)
  }
}

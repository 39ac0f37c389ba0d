import type { Claim } from '../../model/index.ts'
import { type Alarm, Alarms } from '../calls/timer-heap.ts'
import type { Runtime } from '../runtime.ts'
import type { Hold } from './hold.ts'

/** What one renewal call carries at most, and what one turn of the event loop does. */
export const MOST_TOGETHER = 500

/** Holds that are due together: they share one alarm and, as long as nobody comes or goes, the list that is sent. */
export class Cohort implements Alarm {
  /** Not later than any of its holds is due. */
  dueMs = 0
  place = -1
  holds: Hold[] = []
  /** A renewal of all of them that is under way; settles, never rejects. */
  renewing: Promise<void> | null = null
  /** None of them ends before this, and none has a shorter life. */
  endMs = Number.POSITIVE_INFINITY
  lifeMs = Number.POSITIVE_INFINITY
  private claims: readonly Claim[] | null = null
  /** Somebody outside goes through the list of holds, so that it must not change under him. */
  private lent = false
  private readonly onRing: (cohort: Cohort, nowMs: number) => void

  constructor(onRing: (cohort: Cohort, nowMs: number) => void) {
    this.onRing = onRing
  }

  ring(nowMs: number): void {
    this.onRing(this, nowMs)
  }

  /** The holds as they are now: whoever leaves later is still in this list. */
  lend(): readonly Hold[] {
    this.lent = true
    return this.holds
  }

  /** In the order of the holds, and the same list as last time if nothing changed: a store may know it again. */
  claimsOf(): readonly Claim[] {
    this.claims ??= this.holds.map((hold) => hold.claim)
    return this.claims
  }

  forgetClaims(): void {
    this.claims = null
  }

  add(hold: Hold): void {
    this.prepareToChange()
    hold.cohort = this
    hold.seat = this.holds.length
    this.holds.push(hold)
    this.note(hold)
  }

  note({ validUntilMs, lifeMs }: Hold): void {
    if (validUntilMs < this.endMs) this.endMs = validUntilMs
    if (lifeMs < this.lifeMs) this.lifeMs = lifeMs
  }

  remove(hold: Hold): void {
    this.prepareToChange()
    hold.cohort = null
    const last = this.holds.pop() as Hold
    if (last === hold) return
    this.holds[hold.seat] = last
    last.seat = hold.seat
  }

  private prepareToChange(): void {
    this.claims = null
    if (!this.lent) return
    this.lent = false
    this.holds = [...this.holds]
  }
}

/** Which hold is in which cohort, and the one timer of all. */
export class Cohorts {
  size = 0
  private readonly alarms: Alarms
  private readonly onRing: (cohort: Cohort, nowMs: number) => void
  /** Those that a hold may still join, by when they are due. */
  private readonly open = new Map<number, Cohort>()
  /** The one that was left last is kept for the next to come: with one lock after the other it is always the same. */
  private vacant: Cohort | null = null

  constructor(runtime: Runtime, onRing: (cohort: Cohort, nowMs: number) => void, afterTurn: () => void) {
    this.alarms = new Alarms(runtime, true, afterTurn)
    this.onRing = (cohort, nowMs) => {
      this.alarms.countMore(cohort.holds.length)
      this.shut(cohort)
      onRing(cohort, nowMs)
    }
  }

  /** Puts a hold among those that are due at that time. */
  seat(hold: Hold, dueMs: number): void {
    let cohort = this.open.get(dueMs)
    if (cohort === undefined || cohort.holds.length >= MOST_TOGETHER) {
      cohort = new Cohort(this.onRing)
      this.enlist(cohort, dueMs)
    }
    const left = hold.cohort
    if (left === cohort) return
    if (left === null) this.size++
    else left.remove(hold)
    cohort.add(hold)
    // Not before: the cohort that is kept empty may be the one that the hold has come to.
    if (left !== null && left.holds.length === 0) this.vacate(left)
  }

  unseat(hold: Hold): void {
    const { cohort } = hold
    if (cohort === null) return
    cohort.remove(hold)
    this.size--
    if (cohort.holds.length === 0) this.vacate(cohort)
  }

  /** A cohort of these alone, which nobody joins before it is placed. */
  apart(holds: readonly Hold[]): Cohort {
    const cohort = new Cohort(this.onRing)
    for (const hold of holds) {
      this.unseat(hold)
      cohort.add(hold)
      this.size++
    }
    return cohort
  }

  /** Lets the cohort ring then, and others join it; if there is one for that time already, they become one. */
  place(cohort: Cohort, dueMs: number): void {
    const other = this.open.get(dueMs)
    if (
      other !== undefined &&
      other !== cohort &&
      other.holds.length + cohort.holds.length <= MOST_TOGETHER
    ) {
      for (const hold of [...cohort.holds]) this.seat(hold, dueMs)
      return
    }
    this.enlist(cohort, dueMs)
  }

  /** Lets the cohort ring then; nobody joins it. */
  wake(cohort: Cohort, dueMs: number): void {
    this.shut(cohort)
    this.alarms.set(cohort, dueMs)
  }

  /** From now on nobody joins it. */
  shut(cohort: Cohort): void {
    if (this.open.get(cohort.dueMs) === cohort) this.open.delete(cohort.dueMs)
  }

  all(): Hold[] {
    return (this.alarms.all() as readonly Cohort[]).flatMap((cohort) => cohort.holds)
  }

  clear(): void {
    this.alarms.clear()
    this.open.clear()
  }

  private enlist(cohort: Cohort, dueMs: number): void {
    this.wake(cohort, dueMs)
    this.open.set(dueMs, cohort)
  }

  private vacate(cohort: Cohort): void {
    const { vacant } = this
    this.vacant = cohort
    if (vacant === null || vacant === cohort || vacant.holds.length > 0) return
    this.shut(vacant)
    this.alarms.remove(vacant)
  }
}

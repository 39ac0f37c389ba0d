import type { Claim } from '../../model/index.ts'
import { type TimerEntry, TimerHeap } from '../calls/timer-heap.ts'
import type { Runtime } from '../runtime.ts'
import type { LocalHold } from './hold.ts'

/** The most holds that one renewal call carries, and that one turn of the event loop handles. */
export const MAX_BATCH = 500

/** Holds that are due together: they share one timer entry and, while none is added or removed, the list that is sent. */
export class RenewalBatch implements TimerEntry {
  /** Not later than any of its holds is due. */
  dueMs = 0
  index = -1
  holds: LocalHold[] = []
  /** A renewal of all of them that is under way; settles, never rejects. */
  renewing: Promise<void> | null = null
  /** None of them ends before this, and none has a shorter life. */
  endMs = Number.POSITIVE_INFINITY
  lifeMs = Number.POSITIVE_INFINITY
  private claims: readonly Claim[] | null = null
  /** A caller iterates over the list of holds, so the next change copies it. */
  private isShared = false
  private readonly onDue: (batch: RenewalBatch, nowMs: number) => void

  constructor(onDue: (batch: RenewalBatch, nowMs: number) => void) {
    this.onDue = onDue
  }

  fire(nowMs: number): void {
    this.onDue(this, nowMs)
  }

  /** The holds as they are now: a later removal does not change this list. */
  snapshot(): readonly LocalHold[] {
    this.isShared = true
    return this.holds
  }

  /** In the order of the holds, and the same list as last time if nothing changed: a store may recognise it. */
  claimsOf(): readonly Claim[] {
    this.claims ??= this.holds.map((hold) => hold.claim)
    return this.claims
  }

  forgetClaims(): void {
    this.claims = null
  }

  add(hold: LocalHold): void {
    this.prepareToChange()
    hold.batch = this
    hold.batchIndex = this.holds.length
    this.holds.push(hold)
    this.note(hold)
  }

  note({ validUntilMs, lifeMs }: LocalHold): void {
    if (validUntilMs < this.endMs) this.endMs = validUntilMs
    if (lifeMs < this.lifeMs) this.lifeMs = lifeMs
  }

  remove(hold: LocalHold): void {
    this.prepareToChange()
    hold.batch = null
    const last = this.holds.pop() as LocalHold
    if (last === hold) return
    this.holds[hold.batchIndex] = last
    last.batchIndex = hold.batchIndex
  }

  private prepareToChange(): void {
    this.claims = null
    if (!this.isShared) return
    this.isShared = false
    this.holds = [...this.holds]
  }
}

/** Assigns holds to batches by due time; all batches share one timer. */
export class RenewalSchedule {
  size = 0
  private readonly timers: TimerHeap
  private readonly onDue: (batch: RenewalBatch, nowMs: number) => void
  /** The batches that a hold may still join, by their due time. */
  private readonly open = new Map<number, RenewalBatch>()
  /** The batch that became empty last is kept for the next hold: with one lock after the other it is always the same. */
  private spare: RenewalBatch | null = null

  constructor(runtime: Runtime, onDue: (batch: RenewalBatch, nowMs: number) => void, afterTurn: () => void) {
    this.timers = new TimerHeap(runtime, true, afterTurn)
    this.onDue = (batch, nowMs) => {
      this.timers.countMore(batch.holds.length)
      this.shut(batch)
      onDue(batch, nowMs)
    }
  }

  /** Adds a hold to the batch of that due time, or moves it there. */
  add(hold: LocalHold, dueMs: number): void {
    let batch = this.open.get(dueMs)
    if (batch === undefined || batch.holds.length >= MAX_BATCH) {
      batch = new RenewalBatch(this.onDue)
      this.reopenAt(batch, dueMs)
    }
    const left = hold.batch
    if (left === batch) return
    if (left === null) this.size++
    else left.remove(hold)
    batch.add(hold)
    // Only now: the spare batch may be the one that the hold joined.
    if (left !== null && left.holds.length === 0) this.keepSpare(left)
  }

  remove(hold: LocalHold): void {
    const { batch } = hold
    if (batch === null) return
    batch.remove(hold)
    this.size--
    if (batch.holds.length === 0) this.keepSpare(batch)
  }

  /** Moves these holds to a batch of their own, which no other hold joins before `reschedule`. */
  separate(holds: readonly LocalHold[]): RenewalBatch {
    const batch = new RenewalBatch(this.onDue)
    for (const hold of holds) {
      this.remove(hold)
      batch.add(hold)
      this.size++
    }
    return batch
  }

  /** Opens the batch at that due time; if there is one for that time already, the two become one. */
  reschedule(batch: RenewalBatch, dueMs: number): void {
    const other = this.open.get(dueMs)
    if (other !== undefined && other !== batch && other.holds.length + batch.holds.length <= MAX_BATCH) {
      for (const hold of [...batch.holds]) this.add(hold, dueMs)
      return
    }
    this.reopenAt(batch, dueMs)
  }

  /** Lets the batch fire at that time; no hold joins it. */
  wake(batch: RenewalBatch, dueMs: number): void {
    this.shut(batch)
    this.timers.set(batch, dueMs)
  }

  /** No hold joins the batch from now on. */
  shut(batch: RenewalBatch): void {
    if (this.open.get(batch.dueMs) === batch) this.open.delete(batch.dueMs)
  }

  all(): LocalHold[] {
    return (this.timers.all() as readonly RenewalBatch[]).flatMap((batch) => batch.holds)
  }

  clear(): void {
    this.timers.clear()
    this.open.clear()
  }

  private reopenAt(batch: RenewalBatch, dueMs: number): void {
    this.wake(batch, dueMs)
    this.open.set(dueMs, batch)
  }

  private keepSpare(batch: RenewalBatch): void {
    const { spare } = this
    this.spare = batch
    if (spare === null || spare === batch || spare.holds.length > 0) return
    this.shut(spare)
    this.timers.remove(spare)
  }
}

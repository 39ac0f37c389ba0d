import { StoreError } from '../../errors.ts'
import type { StoreClient } from '../calls/store-client.ts'
import type { Events } from '../events.ts'
import type { Runtime } from '../runtime.ts'
import { SleepWatch } from '../runtime.ts'
import type { RenewReply, Soon } from '../store.ts'
import { driftMs, type EndCause, type LocalHold, lostError } from './hold.ts'
import { MAX_BATCH, type RenewalBatch, RenewalSchedule } from './renewal-schedule.ts'

/** A timer this late means that the event loop stood still. */
const STALL_MS = 250
const SHORTEST_RENEW_CALL_MS = 50
/** Renewals that are due within this part of a lease's life travel together; some of them a little early. */
const TOGETHER = 1 / 30

/** Keeps every hold alive and ends it at its own deadline: one timer, renewals in batches. */
export class Watchdog {
  private readonly client: StoreClient
  private readonly runtime: Runtime
  private readonly events: Events
  /** Called once for a hold that was lost, after its user was told. */
  private readonly onLost: (hold: LocalHold, cause: EndCause) => void
  private readonly renewals: RenewalSchedule
  /** The batches whose renewal is due in this turn. */
  private due: RenewalBatch[] = []
  private readonly sleep: SleepWatch
  /** Many turns work off what is overdue after a stall: all of them belong to the same stall. */
  private sameStallUntilMs = 0

  constructor(
    client: StoreClient,
    runtime: Runtime,
    events: Events,
    onLost: (hold: LocalHold, cause: EndCause) => void,
  ) {
    this.client = client
    this.runtime = runtime
    this.events = events
    this.onLost = onLost
    this.renewals = new RenewalSchedule(
      runtime,
      (batch, nowMs) => this.attend(batch, nowMs),
      () => this.renewDue(),
    )
    this.sleep = new SleepWatch(runtime)
  }

  get size(): number {
    return this.renewals.size
  }

  watch(hold: LocalHold, nowMs: number): void {
    this.schedule(hold, nowMs + hold.lifeMs / 3)
  }

  /** The hold has a new user: its `maxHold` replaces that of the last one. */
  renewUntil(hold: LocalHold, nowMs: number, maxHoldMs: number): void {
    const before = hold.renewUntilMs
    hold.renewUntilMs = nowMs + maxHoldMs
    if (before === hold.renewUntilMs || hold.renewing !== null) return
    this.schedule(hold, Math.min(hold.renewAtMs, nowMs + hold.lifeMs / 3))
  }

  /** Stops renewing; the watchdog does not touch the hold afterwards. */
  unwatch(hold: LocalHold): void {
    hold.ended = true
    this.renewals.remove(hold)
  }

  /** Ends a hold that its holder did not release. */
  lose(hold: LocalHold, cause: EndCause): void {
    if (hold.ended) return
    this.unwatch(hold)
    hold.user?.holdLost(cause, lostError(hold.userKey, cause))
    this.onLost(hold, cause)
  }

  /** Renews now, even if no renewal is due. Settles when the outcome is known or the call timed out. */
  renewNow(hold: LocalHold): Soon<void> {
    // Before the hold leaves its batch: a sleep that is noticed now concerns it, too.
    this.sleeps()
    if (hold.ended) return
    if (hold.renewing !== null) return hold.renewing
    return this.send(this.renewals.separate([hold]))
  }

  all(): readonly LocalHold[] {
    return this.renewals.all()
  }

  /**
   * Compares the clocks, and returns how often the machine has slept so far. An answer is worth nothing when this number
   * has changed since its request was sent: the time between them is unknown.
   */
  sleeps(): number {
    const sleptMs = this.sleep.look()
    if (sleptMs > 0) this.doubtAll(this.all(), sleptMs)
    return this.sleep.count
  }

  stop(): void {
    this.renewals.clear()
  }

  private schedule(hold: LocalHold, renewAtMs: number): void {
    this.renewals.add(hold, this.dueOf(hold, renewAtMs))
  }

  /** When the hold needs attention next: its renewal, or its end. */
  private dueOf(hold: LocalHold, renewAtMs: number): number {
    const stepMs = hold.lifeMs * TOGETHER
    const wanted = hold.autoRenew && renewAtMs < hold.renewUntilMs
    hold.renewAtMs = wanted ? Math.floor(renewAtMs / stepMs) * stepMs : Number.POSITIVE_INFINITY
    return Math.min(hold.renewAtMs, hold.validUntilMs)
  }

  private attend(batch: RenewalBatch, nowMs: number): void {
    if (this.due.length === 0) this.noticeStall(batch, nowMs)
    if (nowMs >= batch.endMs) this.loseEnded(batch, nowMs)
    if (batch.holds.length === 0) return
    if (batch.renewing === null) this.due.push(batch)
    else this.renewals.wake(batch, batch.endMs)
  }

  private loseEnded(batch: RenewalBatch, nowMs: number): void {
    batch.endMs = Number.POSITIVE_INFINITY
    for (const hold of batch.snapshot()) {
      if (nowMs >= hold.validUntilMs) this.lose(hold, 'deadline')
      // Its deadline has moved since it joined this batch, and it is not to be renewed.
      else if (batch.renewing === null && hold.renewAtMs > nowMs && !hold.ended)
        this.renewals.add(hold, hold.validUntilMs)
      else batch.note(hold)
    }
  }

  private renewDue(): void {
    const { due } = this
    if (due.length === 0) return
    this.due = []
    let from = 0
    let count = 0
    for (const [index, { holds }] of due.entries()) {
      if (count > 0 && count + holds.length > MAX_BATCH) {
        this.renew(due.slice(from, index))
        from = index
        count = 0
      }
      count += holds.length
    }
    this.renew(due.slice(from))
  }

  /** Sends the batches that are due at once together, one call for each part of the store. */
  private renew(due: readonly RenewalBatch[]): void {
    const [first] = due
    const whole =
      due.length === 1 ? (first as RenewalBatch) : this.renewals.separate(due.flatMap(({ holds }) => holds))
    const parts = this.client.byPart(whole.holds, (hold) => hold.claim)
    const holds = whole.snapshot()
    if (parts === null || parts.length < 2) void this.send(whole)
    else
      for (const part of parts)
        void this.send(this.renewals.separate(part.map((index) => holds[index] as LocalHold)))
  }

  private noticeStall(first: RenewalBatch, nowMs: number): void {
    const sleptMs = this.sleep.look()
    if (sleptMs > 0) {
      this.doubtAll([...first.holds, ...this.all()], sleptMs)
      return
    }
    const lateMs = nowMs - first.dueMs
    if (lateMs < STALL_MS) return
    const again = nowMs < this.sameStallUntilMs
    this.sameStallUntilMs = nowMs + STALL_MS
    if (again) return
    for (const hold of [...first.holds, ...this.all()]) {
      if (hold.autoRenew && !hold.trusted(nowMs)) hold.doubted = true
    }
    this.events.emit('stalled', { stalledMs: lateMs, leases: this.size })
  }

  /** After a sleep every lease has that much less to live; a renewable one proves itself at once. */
  private doubtAll(holds: readonly LocalHold[], sleptMs: number): void {
    const nowMs = this.runtime.nowMs()
    for (const hold of holds) {
      hold.validUntilMs -= sleptMs
      const renewable = hold.renewAtMs !== Number.POSITIVE_INFINITY
      hold.doubted = renewable
      const { batch } = hold
      batch?.note(hold)
      // A renewal under way was sent before the sleep: its answer schedules the next one, unless the lease ends before.
      if (batch !== null && batch.renewing !== null) this.renewals.wake(batch, batch.endMs)
      else this.renewals.add(hold, renewable ? nowMs : hold.validUntilMs)
    }
    this.events.emit('stalled', { stalledMs: sleptMs, leases: this.size })
  }

  private send(batch: RenewalBatch): Soon<void> {
    const sentAtMs = this.runtime.nowMs()
    const sleeps = this.sleep.count
    const holds = batch.snapshot()
    let answers: Soon<readonly RenewReply[]>
    try {
      answers = this.client.renew(batch.claimsOf(), patienceMs(batch, sentAtMs))
    } catch (error) {
      this.unknown(holds, error)
      return
    }
    if (!(answers instanceof Promise)) {
      this.settle(batch, holds, answers, sentAtMs, sleeps)
      return
    }
    const settled = answers.then(
      (known) => this.settle(batch, holds, known, sentAtMs, sleeps),
      (error) => {
        batch.renewing = null
        this.unknown(holds, error)
      },
    )
    batch.renewing = settled
    // The leases end by their own timer at their deadline, even while the call hangs.
    this.renewals.wake(batch, batch.endMs)
    return settled
  }

  private settle(
    batch: RenewalBatch,
    holds: readonly LocalHold[],
    answers: readonly RenewReply[],
    sentAtMs: number,
    sleeps: number,
  ): void {
    const nowMs = this.runtime.nowMs()
    const slept = this.sleeps() !== sleeps
    const told = this.events.has('renewed')
    // Jitter per call: calls drift apart, the leases of one call stay together.
    const spread = 0.9 + 0.1 * this.runtime.random()
    batch.renewing = null
    batch.endMs = Number.POSITIVE_INFINITY
    batch.lifeMs = Number.POSITIVE_INFINITY
    let togetherMs = Number.NaN
    for (let index = 0; index < holds.length; index++) {
      const hold = holds[index] as LocalHold
      const answer = answers[index] ?? NO_ANSWER
      if (answer.kind === 'unknown') {
        this.unknown([hold], this.client.unknown('renew', 1, answer.error))
        continue
      }
      hold.renewError = null
      if (hold.ended) continue
      if (answer.kind !== 'renewed') {
        this.lose(hold, 'expired')
        continue
      }
      if (slept) {
        this.unknown([hold], new StoreError('the machine slept while the lease was renewed'))
        continue
      }
      const { ttlMs } = hold.claim
      hold.lifeMs = ttlMs
      hold.validUntilMs = Math.max(hold.validUntilMs, sentAtMs + ttlMs - driftMs(ttlMs))
      hold.doubted = false
      hold.noteContended(nowMs, answer.contended)
      if (nowMs >= hold.validUntilMs) {
        this.lose(hold, 'deadline')
        continue
      }
      const dueMs = this.dueOf(hold, sentAtMs + (ttlMs / 3) * spread)
      if (Number.isNaN(togetherMs)) togetherMs = dueMs
      if (dueMs === togetherMs) batch.note(hold)
      else this.renewals.add(hold, dueMs)
      if (told)
        this.events.emit('renewed', { key: hold.userKey, token: hold.token, tookMs: nowMs - sentAtMs })
    }
    if (batch.holds.length > 0) this.renewals.reschedule(batch, togetherMs)
  }

  private unknown(holds: readonly LocalHold[], error: unknown): void {
    const nowMs = this.runtime.nowMs()
    for (const hold of holds) {
      hold.renewError = error
      if (hold.ended) continue
      this.schedule(hold, nowMs + Math.max(hold.lifeMs / 10, 5) * (0.5 + this.runtime.random()))
      this.events.emit('renewFailed', { key: hold.userKey, token: hold.token, error })
    }
  }
}

const NO_ANSWER: RenewReply = {
  kind: 'unknown',
  error: new Error('the store left the claim without an answer'),
}

/** How long one renewal may take: it leaves time for further ones, or uses all that is left if there are none. */
function patienceMs({ holds, lifeMs, endMs }: RenewalBatch, nowMs: number): number {
  const mayFollow = holds.length > 1 || holds[0]?.autoRenew === true
  return Math.max(mayFollow ? lifeMs / 3 : endMs - nowMs, SHORTEST_RENEW_CALL_MS)
}

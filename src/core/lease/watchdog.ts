import { StoreError } from '../../errors.ts'
import type { Courier } from '../calls/store-client.ts'
import type { Events } from '../events.ts'
import type { Runtime } from '../runtime.ts'
import { SleepWatch } from '../sleep.ts'
import type { RenewReply, Soon } from '../store.ts'
import { driftMs, type EndCause, type Hold, lostError } from './hold.ts'
import { type Cohort, Cohorts, MOST_TOGETHER } from './renewal-schedule.ts'

/** A timer this late means that the event loop stood still. */
const STALL_MS = 250
const SHORTEST_RENEW_CALL_MS = 50
/** Renewals that are due within this part of a lease's life travel together, those that could wait a little earlier. */
const TOGETHER = 1 / 30

/** Keeps every hold alive and ends it at its own deadline: one timer, renewals in batches. */
export class Watchdog {
  private readonly courier: Courier
  private readonly runtime: Runtime
  private readonly events: Events
  /** Called once for a hold that was lost, after its user was told. */
  private readonly onLost: (hold: Hold, cause: EndCause) => void
  private readonly cohorts: Cohorts
  /** Those whose renewal is due in this turn. */
  private due: Cohort[] = []
  private readonly sleep: SleepWatch
  /** What is overdue after a stall is worked off in many turns: all of them are still the same stall. */
  private sameStallUntilMs = 0

  constructor(
    courier: Courier,
    runtime: Runtime,
    events: Events,
    onLost: (hold: Hold, cause: EndCause) => void,
  ) {
    this.courier = courier
    this.runtime = runtime
    this.events = events
    this.onLost = onLost
    this.cohorts = new Cohorts(
      runtime,
      (cohort, nowMs) => this.ring(cohort, nowMs),
      () => this.renewDue(),
    )
    this.sleep = new SleepWatch(runtime)
  }

  get size(): number {
    return this.cohorts.size
  }

  watch(hold: Hold, nowMs: number): void {
    this.schedule(hold, nowMs + hold.lifeMs / 3)
  }

  /** The hold has a new user, who wants it renewed for that long: the last one's `maxHold` is over, the next one's begins. */
  renewUntil(hold: Hold, nowMs: number, maxHoldMs: number): void {
    const before = hold.renewUntilMs
    hold.renewUntilMs = nowMs + maxHoldMs
    if (before === hold.renewUntilMs || hold.renewing !== null) return
    this.schedule(hold, Math.min(hold.renewAtMs, nowMs + hold.lifeMs / 3))
  }

  /** Stops renewing; nothing of the watchdog touches the hold afterwards. */
  unwatch(hold: Hold): void {
    hold.ended = true
    this.cohorts.unseat(hold)
  }

  /** Ends a hold that its holder did not release. */
  lose(hold: Hold, cause: EndCause): void {
    if (hold.ended) return
    this.unwatch(hold)
    hold.user?.holdLost(cause, lostError(hold.userKey, cause))
    this.onLost(hold, cause)
  }

  /** Renews now, also when the watchdog would not. Settles when the outcome is known or the call gave up. */
  renewNow(hold: Hold): Soon<void> {
    // Before the hold is taken out of its batch: a sleep that is noticed now concerns it, too.
    this.sleeps()
    if (hold.ended) return
    if (hold.renewing !== null) return hold.renewing
    return this.send(this.cohorts.apart([hold]))
  }

  all(): readonly Hold[] {
    return this.cohorts.all()
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
    this.cohorts.clear()
  }

  private schedule(hold: Hold, renewAtMs: number): void {
    this.cohorts.seat(hold, this.dueOf(hold, renewAtMs))
  }

  /** When the hold needs attention next: its renewal, or its end. */
  private dueOf(hold: Hold, renewAtMs: number): number {
    const stepMs = hold.lifeMs * TOGETHER
    const wanted = hold.autoRenew && renewAtMs < hold.renewUntilMs
    hold.renewAtMs = wanted ? Math.floor(renewAtMs / stepMs) * stepMs : Number.POSITIVE_INFINITY
    return Math.min(hold.renewAtMs, hold.validUntilMs)
  }

  private ring(cohort: Cohort, nowMs: number): void {
    if (this.due.length === 0) this.noticeStall(cohort, nowMs)
    if (nowMs >= cohort.endMs) this.loseEnded(cohort, nowMs)
    if (cohort.holds.length === 0) return
    if (cohort.renewing === null) this.due.push(cohort)
    else this.cohorts.wake(cohort, cohort.endMs)
  }

  private loseEnded(cohort: Cohort, nowMs: number): void {
    cohort.endMs = Number.POSITIVE_INFINITY
    for (const hold of cohort.lend()) {
      if (nowMs >= hold.validUntilMs) this.lose(hold, 'deadline')
      // It has come to live longer than when it was put here, and is not to be renewed.
      else if (cohort.renewing === null && hold.renewAtMs > nowMs && !hold.ended)
        this.cohorts.seat(hold, hold.validUntilMs)
      else cohort.note(hold)
    }
  }

  private renewDue(): void {
    const { due } = this
    if (due.length === 0) return
    this.due = []
    let from = 0
    let count = 0
    for (const [place, { holds }] of due.entries()) {
      if (count > 0 && count + holds.length > MOST_TOGETHER) {
        this.renew(due.slice(from, place))
        from = place
        count = 0
      }
      count += holds.length
    }
    this.renew(due.slice(from))
  }

  /** Those that are due at once travel together, but for those in different parts of the store. */
  private renew(due: readonly Cohort[]): void {
    const [first] = due
    const whole = due.length === 1 ? (first as Cohort) : this.cohorts.apart(due.flatMap(({ holds }) => holds))
    const parts = this.courier.byPart(whole.holds, (hold) => hold.claim)
    const holds = whole.lend()
    if (parts === null || parts.length < 2) void this.send(whole)
    else for (const places of parts) void this.send(this.cohorts.apart(places.map((at) => holds[at] as Hold)))
  }

  private noticeStall(first: Cohort, nowMs: number): void {
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

  /** After a sleep every lease has that much less to live; what is left of it and can be renewed proves itself at once. */
  private doubtAll(holds: readonly Hold[], sleptMs: number): void {
    const nowMs = this.runtime.nowMs()
    for (const hold of holds) {
      hold.validUntilMs -= sleptMs
      const renewable = hold.renewAtMs !== Number.POSITIVE_INFINITY
      hold.doubted = renewable
      const { cohort } = hold
      cohort?.note(hold)
      // A renewal that is under way was sent before the sleep: its answer brings the next one, unless the lease ends before.
      if (cohort !== null && cohort.renewing !== null) this.cohorts.wake(cohort, cohort.endMs)
      else this.cohorts.seat(hold, renewable ? nowMs : hold.validUntilMs)
    }
    this.events.emit('stalled', { stalledMs: sleptMs, leases: this.size })
  }

  private send(cohort: Cohort): Soon<void> {
    const sentAtMs = this.runtime.nowMs()
    const sleeps = this.sleep.count
    const holds = cohort.lend()
    let answers: Soon<readonly RenewReply[]>
    try {
      answers = this.courier.renew(cohort.claimsOf(), patienceMs(cohort, sentAtMs))
    } catch (error) {
      this.unknown(holds, error)
      return
    }
    if (!(answers instanceof Promise)) {
      this.settle(cohort, holds, answers, sentAtMs, sleeps)
      return
    }
    const settled = answers.then(
      (known) => this.settle(cohort, holds, known, sentAtMs, sleeps),
      (error) => {
        cohort.renewing = null
        this.unknown(holds, error)
      },
    )
    cohort.renewing = settled
    // The leases end by their own alarm at their deadline, even while the call hangs.
    this.cohorts.wake(cohort, cohort.endMs)
    return settled
  }

  private settle(
    cohort: Cohort,
    holds: readonly Hold[],
    answers: readonly RenewReply[],
    sentAtMs: number,
    sleeps: number,
  ): void {
    const nowMs = this.runtime.nowMs()
    const slept = this.sleeps() !== sleeps
    const told = this.events.has('renewed')
    // Calls drift apart, so that not everything is renewed at one moment for ever; what travels together stays together.
    const spread = 0.9 + 0.1 * this.runtime.random()
    cohort.renewing = null
    cohort.endMs = Number.POSITIVE_INFINITY
    cohort.lifeMs = Number.POSITIVE_INFINITY
    let togetherMs = Number.NaN
    for (let index = 0; index < holds.length; index++) {
      const hold = holds[index] as Hold
      const answer = answers[index] ?? NO_ANSWER
      if (answer.kind === 'unknown') {
        this.unknown([hold], this.courier.renewalUnknown(answer.error))
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
      if (dueMs === togetherMs) cohort.note(hold)
      else this.cohorts.seat(hold, dueMs)
      if (told)
        this.events.emit('renewed', { key: hold.userKey, token: hold.token, tookMs: nowMs - sentAtMs })
    }
    if (cohort.holds.length > 0) this.cohorts.place(cohort, togetherMs)
  }

  private unknown(holds: readonly Hold[], error: unknown): void {
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

/** How long one renewal may take: so long that others can follow it, or all that is left when none will. */
function patienceMs({ holds, lifeMs, endMs }: Cohort, nowMs: number): number {
  const mayFollow = holds.length > 1 || holds[0]?.autoRenew === true
  return Math.max(mayFollow ? lifeMs / 3 : endMs - nowMs, SHORTEST_RENEW_CALL_MS)
}

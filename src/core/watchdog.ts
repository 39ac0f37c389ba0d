import { Alarms } from './alarms.ts'
import type { Courier } from './courier.ts'
import type { Events } from './events.ts'
import { driftMs, type EndCause, type Hold, lostError } from './hold.ts'
import type { Runtime } from './runtime.ts'
import type { RenewReply, Soon } from './store.ts'

/** A timer this late means that the event loop stood still. */
const STALL_MS = 250
/** A wall clock this far ahead of the monotonic one means that the machine slept. */
const SLEEP_MS = 1000
const SHORTEST_RENEW_CALL_MS = 50
/** Renewals that are due within this part of a lease's life travel together, those that could wait a little earlier. */
const TOGETHER = 1 / 60

/** Keeps every hold alive and ends it at its own deadline: one timer, renewals in batches. */
export class Watchdog {
  private readonly courier: Courier
  private readonly runtime: Runtime
  private readonly events: Events
  /** Called once for a hold that was lost, after its user was told. */
  private readonly onLost: (hold: Hold, cause: EndCause) => void
  private readonly alarms: Alarms
  private due: Hold[] = []
  private wallAheadMs: number
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
    this.alarms = new Alarms(runtime, true, () => this.renewDue())
    this.wallAheadMs = runtime.wallMs() - runtime.nowMs()
  }

  get size(): number {
    return this.alarms.size
  }

  watch(hold: Hold, nowMs: number): void {
    this.schedule(hold, nowMs + hold.lifeMs / 3)
  }

  /** Stops renewing; nothing of the watchdog touches the hold afterwards. */
  unwatch(hold: Hold): void {
    hold.ended = true
    this.alarms.remove(hold)
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
    if (hold.ended) return
    if (hold.renewing !== null) return hold.renewing
    return this.send([hold])
  }

  all(): readonly Hold[] {
    return this.alarms.all() as readonly Hold[]
  }

  stop(): void {
    this.alarms.clear()
  }

  private schedule(hold: Hold, renewAtMs: number): void {
    const stepMs = hold.lifeMs * TOGETHER
    const wanted = hold.autoRenew && renewAtMs < hold.renewUntilMs
    hold.renewAtMs = wanted ? Math.floor(renewAtMs / stepMs) * stepMs : Number.POSITIVE_INFINITY
    this.alarms.set(hold, Math.min(hold.renewAtMs, hold.validUntilMs))
  }

  /** Called by the alarm of a hold. */
  ring(hold: Hold, nowMs: number): void {
    if (this.due.length === 0) this.noticeStall(hold, nowMs)
    if (nowMs >= hold.validUntilMs) this.lose(hold, 'deadline')
    else this.due.push(hold)
  }

  private renewDue(): void {
    if (this.due.length === 0) return
    const due = this.due.filter((hold) => !hold.ended && hold.renewing === null)
    this.due = []
    const parts = this.courier.byPart(due, (hold) => hold.claim)
    if (parts !== null) for (const places of parts) void this.send(places.map((place) => due[place] as Hold))
    else if (due.length > 0) void this.send(due)
  }

  private noticeStall(first: Hold, nowMs: number): void {
    const wallAheadMs = this.runtime.wallMs() - nowMs
    const sleptMs = wallAheadMs - this.wallAheadMs
    this.wallAheadMs = wallAheadMs
    const lateMs = nowMs - first.dueMs
    if (lateMs < STALL_MS && sleptMs < SLEEP_MS) return
    const again = nowMs < this.sameStallUntilMs
    this.sameStallUntilMs = nowMs + STALL_MS
    if (again && sleptMs < SLEEP_MS) return
    for (const hold of [first, ...this.all()]) {
      if (hold.autoRenew && (sleptMs >= SLEEP_MS || !hold.trusted(nowMs))) hold.doubted = true
    }
    this.events.emit('stalled', { stalledMs: Math.max(lateMs, sleptMs), leases: this.alarms.size + 1 })
  }

  private send(holds: readonly Hold[]): Soon<void> {
    const sentAtMs = this.runtime.nowMs()
    let timeoutMs = Number.POSITIVE_INFINITY
    for (const hold of holds) timeoutMs = Math.min(timeoutMs, patienceMs(hold, sentAtMs))
    let answers: Soon<readonly RenewReply[]>
    try {
      answers = this.courier.renew(
        holds.map((hold) => hold.claim),
        Math.max(timeoutMs, SHORTEST_RENEW_CALL_MS),
      )
    } catch (error) {
      this.unknown(holds, error)
      return
    }
    if (!(answers instanceof Promise)) {
      this.settle(holds, answers, sentAtMs)
      return
    }
    const settled = answers.then(
      (known) => this.settle(holds, known, sentAtMs),
      (error) => this.unknown(holds, error),
    )
    for (const hold of holds) {
      hold.renewing = settled
      // The lease ends by its own alarm at its deadline, even while this call hangs.
      this.schedule(hold, Number.POSITIVE_INFINITY)
    }
    return settled
  }

  private settle(holds: readonly Hold[], answers: readonly RenewReply[], sentAtMs: number): void {
    const nowMs = this.runtime.nowMs()
    const told = this.events.has('renewed')
    // Calls drift apart, so that not everything is renewed at one moment for ever; what travels together stays together.
    const spread = 0.9 + 0.1 * this.runtime.random()
    for (let index = 0; index < holds.length; index++) {
      const hold = holds[index] as Hold
      const answer = answers[index] as RenewReply
      if (answer.kind === 'unknown') {
        this.unknown([hold], answer.error)
        continue
      }
      hold.renewing = null
      hold.renewError = null
      if (hold.ended) continue
      if (answer.kind === 'lost') {
        this.lose(hold, 'expired')
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
      this.schedule(hold, sentAtMs + (ttlMs / 3) * spread)
      if (told)
        this.events.emit('renewed', { key: hold.userKey, token: hold.token, tookMs: nowMs - sentAtMs })
    }
  }

  private unknown(holds: readonly Hold[], error: unknown): void {
    const nowMs = this.runtime.nowMs()
    for (const hold of holds) {
      hold.renewing = null
      hold.renewError = error
      if (hold.ended) continue
      this.schedule(hold, nowMs + Math.max(hold.lifeMs / 10, 5) * (0.5 + this.runtime.random()))
      this.events.emit('renewFailed', { key: hold.userKey, token: hold.token, error })
    }
  }
}

/** How long one renewal may take: so long that others can follow it, or all that is left when none will. */
function patienceMs(hold: Hold, nowMs: number): number {
  return hold.autoRenew ? hold.lifeMs / 3 : hold.validUntilMs - nowMs
}

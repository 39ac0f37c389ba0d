import { LockError, StoreError } from '../../errors.ts'
import type { Blocked, Claim, ClaimAnswer } from '../../model/index.ts'
import type { Receiver } from '../calls/pending-call.ts'
import type { TimerEntry } from '../calls/timer-heap.ts'
import type { Engine, NoticeTarget } from '../engine.ts'
import { driftMs } from '../lease/hold.ts'
import type { LockRequest } from '../options.ts'
import type { RenewReply, StoreNotice } from '../store.ts'
import { type AttemptAnswers, ask, type Grant, grantOf, refusal } from './grant.ts'
import type { HeartbeatBucket, HeartbeatCall } from './heartbeat.ts'
import { backoffMs, crowdingOf, LOOK_MS, LOOKING_POSITIONS, lookDelayMs } from './retry-delay.ts'
import { noAnswerError, type Waiter } from './waiter.ts'

type Push = StoreNotice & { kind: 'granted' }

/** Gets the result of an acquisition. */
export interface AcquisitionOwner {
  /** The owner passes on notices about the claim; otherwise they find it by its id. */
  readonly notifies: boolean
  granted(acquisition: Acquisition, grant: Grant): void
  /** The one attempt of a claim that does not wait was blocked. */
  busy(acquisition: Acquisition, blocked: Blocked): void
  failed(acquisition: Acquisition, error: LockError): void
}

/** One claim on its way to being held: attempt, wait, attempt, until it is granted, refused or given up. */
export class Acquisition implements NoticeTarget, TimerEntry, Receiver<ClaimAnswer> {
  readonly claim: Claim
  readonly request: LockRequest
  dueMs = 0
  index = -1
  /** The heartbeats that its position is renewed with; set by `Heartbeats`. */
  bucket: HeartbeatBucket | null = null
  /** The waiter that the claim was sent for; set by the local queue. */
  waiter: Waiter | null = null
  private readonly engine: Engine
  private readonly owner: AcquisitionOwner
  private phase: 'asking' | 'waiting' | 'over' = 'asking'
  private blocked: Blocked | null = null
  private blockedSentAtMs = 0
  /** The error of the last call, if it failed. */
  private outage: StoreError | null
  /** The send time of the attempt under way; there is one at a time. */
  private sentAtMs = 0
  private sleepsAtSend = 0
  /** The send time of the last answered request while the claim waits: a pushed grant counts from it. */
  private answeredSentAtMs = 0
  private answeredStoreMs = 0
  private sleepsAtAnswer = 0
  private failures = 0
  /** The number of heartbeats that failed in a row. */
  private missed = 0
  /** A grant pushed while an attempt was under way, whose answer may be older. */
  private push: Push | null = null
  /** A push that overtook the answer said that others wait. */
  private contended = false

  constructor(engine: Engine, claim: Claim, request: LockRequest, owner: AcquisitionOwner) {
    this.engine = engine
    this.claim = claim
    this.request = request
    this.owner = owner
    this.outage = request.outage
  }

  /** Makes an attempt. A store may answer at once: then the owner is called before this returns. */
  begin(sentAtMs: number): void {
    const { client } = this.engine
    if (client.immediate) {
      this.follow(ask(this.engine, this.claim), sentAtMs)
      return
    }
    this.noteSent(sentAtMs)
    this.listen()
    client.postAttempt(this.claim, this)
  }

  /** Continues from an attempt that was made already. */
  follow(answers: AttemptAnswers, sentAtMs: number): void {
    this.noteSent(sentAtMs)
    if (answers instanceof LockError) this.afterError(answers)
    else if (answers instanceof Promise) {
      this.listen()
      answers.then(
        ([answer]) => this.answered(answer as ClaimAnswer),
        (error) => this.failed(error),
      )
    } else this.consider(answers[0] as ClaimAnswer)
  }

  answered(answer: ClaimAnswer): void {
    if (this.phase === 'over') this.engine.cleanup.release(this.claim)
    else this.consider(answer)
  }

  failed(error: LockError): void {
    if (this.phase === 'over') this.engine.cleanup.release(this.claim)
    else this.afterError(error, this.engine.runtime.nowMs() - this.sentAtMs)
  }

  heartbeat(answer: RenewReply, call: HeartbeatCall): void {
    const { sentAtMs, sleeps } = call
    // A later attempt knows more.
    if (this.phase !== 'waiting' || sentAtMs < this.answeredSentAtMs) return
    if (answer.kind === 'unknown') {
      this.heartbeatFailed(this.engine.client.unknown('renew', 1, answer.error), call)
      return
    }
    // The position is gone, or the store made the claim a holder and the push was lost.
    if (answer.kind !== 'waiting') {
      this.ask()
      return
    }
    this.outage = null
    this.missed = 0
    this.noteAnswered(sentAtMs, answer.storeTimeMs, sleeps)
    const { position } = answer
    if (this.blocked !== null && position > 0) this.blocked = { ...this.blocked, position }
    this.engine.heartbeats.keep(this)
    if (position > 0 && position <= LOOKING_POSITIONS && this.index < 0) this.lookWithin(LOOK_MS)
  }

  heartbeatFailed(error: LockError, call: HeartbeatCall): void {
    if (this.phase !== 'waiting') return
    if (error instanceof StoreError) this.outage = error
    this.engine.heartbeats.retry(this, this.missed++, call)
  }

  /** The last `blocked` answer, with its times moved to now. */
  lastSeen(): Blocked | null {
    if (this.blocked?.holder == null) return this.blocked
    const { label, heldMs } = this.blocked.holder
    const sinceMs = this.engine.runtime.nowMs() - this.blockedSentAtMs
    return { ...this.blocked, holder: { label, heldMs: heldMs === null ? null : heldMs + sinceMs } }
  }

  /** The outage that ends the wait, or null: contention is no outage, nor is a wait shorter than an answer. */
  outageOf({ waitMs }: LockRequest): StoreError | null {
    return this.outage !== null || this.blocked !== null ? this.outage : noAnswerError(waitMs)
  }

  /** Ends the acquisition. The clean-up queue releases what the store may keep of it. */
  cancel(): void {
    if (this.phase === 'over') return
    this.leave()
    this.engine.cleanup.release(this.claim)
  }

  fire(): void {
    this.engine.looking--
    this.ask()
  }

  notice(notice: StoreNotice): void {
    if (this.phase === 'over') return
    if (notice.kind === 'granted') {
      if (this.phase === 'asking') this.push = notice
      else this.accept(notice)
    } else if (notice.kind === 'retry' || notice.kind === 'lost') {
      if (this.phase === 'waiting') this.ask()
    } else if (notice.kind === 'contended') {
      this.contended = true
    }
  }

  private noteSent(sentAtMs: number): void {
    this.sentAtMs = sentAtMs
    this.sleepsAtSend = this.engine.watchdog.sleeps()
  }

  private noteAnswered(sentAtMs: number, storeTimeMs: number, sleeps: number): void {
    this.answeredSentAtMs = sentAtMs
    this.answeredStoreMs = storeTimeMs
    this.sleepsAtAnswer = sleeps
  }

  private ask(): void {
    this.stopLooking()
    this.phase = 'asking'
    this.contended = false
    this.begin(this.engine.runtime.nowMs())
  }

  private consider(answer: ClaimAnswer): void {
    const { sentAtMs } = this
    if (answer.kind === 'refused') {
      this.leave()
      this.owner.failed(this, refusal(this.request.key, answer))
    } else if (answer.kind === 'granted') {
      const nowMs = this.engine.runtime.nowMs()
      const slept = this.engine.watchdog.sleeps() !== this.sleepsAtSend
      const grant = slept ? null : grantOf(answer, this.claim, sentAtMs, nowMs)
      if (grant !== null) this.conclude(this.contended ? { ...grant, contended: true } : grant)
      else this.afterError(new StoreError('the grant came too late: it had run out before it arrived'))
    } else if (this.request.waitMs === 0) {
      this.leave()
      this.owner.busy(this, answer)
    } else {
      this.outage = null
      this.failures = 0
      this.waitInQueue(answer)
    }
  }

  private waitInQueue(answer: Blocked): void {
    const first = this.blocked === null
    this.blocked = answer
    this.blockedSentAtMs = this.sentAtMs
    this.noteAnswered(this.sentAtMs, answer.storeTimeMs, this.sleepsAtSend)
    this.phase = 'waiting'
    this.listen()
    if (first && this.engine.events.has('waiting')) {
      const { position, holder } = answer
      this.engine.events.emit('waiting', { key: this.request.key, position, holder: holder?.label ?? null })
    }
    const { push } = this
    this.push = null
    if (this.queued) this.engine.heartbeats.keep(this)
    this.lookAgain(answer)
    if (push !== null) this.accept(push)
  }

  /** True if the store keeps the claim's position; otherwise the claim polls. */
  private get queued(): boolean {
    if (!this.claim.queue) return false
    return this.engine.store.traits.order === 'fifo' || (this.blocked?.position ?? 0) > 0
  }

  /** A push can be lost, and a holder can die: the bounded fallback for both. */
  private lookAgain(answer: Blocked): void {
    const { engine, claim, request, queued } = this
    const chance = engine.runtime.random()
    const delayMs = lookDelayMs(answer, claim.ttlMs, request.spin, queued, crowdingOf(engine.looking), chance)
    if (delayMs !== null) this.lookWithin(delayMs)
  }

  private lookWithin(delayMs: number): void {
    if (this.index < 0) this.engine.looking++
    this.engine.waits.set(this, this.engine.runtime.nowMs() + delayMs)
  }

  /**
   * A pushed grant counts from the send time of the last request that was answered while the claim waited, plus the time
   * that the store's own clock says lay between that answer and the grant. A grant older than that answer is history.
   */
  private accept(push: Push): void {
    const laterMs = this.blocked === null ? -1 : push.storeTimeMs - this.answeredStoreMs
    const wholeMs = laterMs + push.lifeMs
    const validUntilMs = this.answeredSentAtMs + wholeMs - driftMs(wholeMs)
    const confirmed = push.lifeMs >= this.claim.ttlMs || this.request.renew
    const leftMs = validUntilMs - this.engine.runtime.nowMs()
    const slept = this.engine.watchdog.sleeps() !== this.sleepsAtAnswer
    if (laterMs < 0 || slept || !confirmed || leftMs < push.lifeMs / 2) {
      this.ask()
      return
    }
    const { token, spare, contended, lifeMs } = push
    this.conclude({ token, spare, contended, validUntilMs, lifeMs })
  }

  private conclude(grant: Grant): void {
    this.leave()
    this.owner.granted(this, grant)
  }

  /** An outage may pass; any other error of a store is final. */
  private afterError(error: LockError, tookMs = 0): void {
    if (this.request.waitMs === 0 || !(error instanceof StoreError)) {
      this.cancel()
      this.owner.failed(this, error)
      return
    }
    this.outage = error
    this.phase = 'waiting'
    const { looking, runtime, heartbeats } = this.engine
    this.lookWithin(backoffMs(this.failures++, tookMs, crowdingOf(looking)) * (0.5 + runtime.random()))
    // A server that refuses attempts may take heartbeats, as one without memory does: the position lives on.
    if (this.queued && this.blocked !== null && this.bucket === null) heartbeats.keep(this)
  }

  private listen(): void {
    if (!this.owner.notifies) this.engine.targets.set(this.claim.id, this)
  }

  private stopLooking(): void {
    if (this.index >= 0) this.engine.looking--
    this.engine.waits.remove(this)
  }

  private leave(): void {
    this.phase = 'over'
    this.stopLooking()
    this.engine.heartbeats.drop(this)
    if (this.owner.notifies) return
    if (this.engine.targets.get(this.claim.id) === this) this.engine.targets.delete(this.claim.id)
  }
}

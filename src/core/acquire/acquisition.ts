import { ConflictError, LeaseLostError, LockError, StoreError, UnsupportedError } from '../../errors.ts'
import type { Blocked, Claim, ClaimAnswer, Refused } from '../../model/index.ts'
import type { Receiver } from '../calls/pending-call.ts'
import type { TimerEntry } from '../calls/timer-heap.ts'
import type { Engine, NoticeTarget } from '../engine.ts'
import { driftMs } from '../lease/hold.ts'
import type { Request } from '../options.ts'
import type { RenewReply, StoreNotice } from '../store.ts'
import { type Asked, ask, type Grant, grantOf } from './grant.ts'
import type { HeartbeatBucket, HeartbeatCall } from './heartbeat.ts'
import { silence, type Waiter } from './waiter.ts'

type Push = StoreNotice & { kind: 'granted' }

/** Learns how an acquisition ends. */
export interface AcquisitionOwner {
  /** Notifications about the claim come through the owner; else the claim is found by its id. */
  readonly notifies: boolean
  granted(acquisition: Acquisition, grant: Grant): void
  /** The one attempt of a claim that does not wait was blocked. */
  busy(acquisition: Acquisition, blocked: Blocked): void
  failed(acquisition: Acquisition, error: LockError): void
}

/** The first two in the queue attempt again this often, in case the one before them is dead or a push was lost. */
const LOOK_MS = 1000
const LOOKING_POSITIONS = 2
/** With more claims than this near the head of their queues, each of them looks less often. */
const MOST_LOOKS_A_SECOND = 500
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1000
/** A look at the very moment of an expiry comes too early by the difference of two clocks. */
const EXPIRY_SLACK_MS = 2

/** One claim on its way to being held: attempt, wait, attempt, until it is granted, refused or given up. */
export class Acquisition implements NoticeTarget, TimerEntry, Receiver<ClaimAnswer> {
  readonly claim: Claim
  readonly request: Request
  dueMs = 0
  index = -1
  /** The renewals that its position travels with: the heartbeat's. */
  bucket: HeartbeatBucket | null = null
  /** The waiters that the claim was sent for: the local queue's. */
  waiter: Waiter | null = null
  private readonly engine: Engine
  private readonly owner: AcquisitionOwner
  private phase: 'asking' | 'waiting' | 'over' = 'asking'
  private blocked: Blocked | null = null
  private blockedSentAtMs = 0
  /** Why the store could not be asked, if the last call failed. */
  private outage: StoreError | null
  /** When the attempt that is under way was sent; there is one at a time. */
  private sentAtMs = 0
  private sleepsAtSend = 0
  /** The last request that was answered while the claim waited: a pushed grant counts from when it was sent. */
  private answeredSentAtMs = 0
  private answeredStoreMs = 0
  private sleepsAtAnswer = 0
  private failures = 0
  /** How many heartbeats in a row failed. */
  private missed = 0
  /** A grant that was pushed while an attempt was under way: the answer may have been given before it. */
  private push: Push | null = null
  /** Others wait already, said a push that overtook the answer. */
  private contended = false

  constructor(engine: Engine, claim: Claim, request: Request, owner: AcquisitionOwner) {
    this.engine = engine
    this.claim = claim
    this.request = request
    this.owner = owner
    this.outage = request.outage
  }

  /** Makes an attempt. Returns the answer of a store that answers at once; else null, and the owner is called later. */
  begin(sentAtMs: number): Grant | Blocked | null {
    const { client } = this.engine
    if (client.immediate) return this.follow(ask(this.engine, this.claim), sentAtMs)
    this.noteSent(sentAtMs)
    this.listen()
    client.postAttempt(this.claim, this)
    return null
  }

  /** Goes on from an attempt that was made already. */
  follow(answers: Asked, sentAtMs: number): Grant | Blocked | null {
    this.noteSent(sentAtMs)
    if (answers instanceof LockError) {
      this.afterError(answers)
      return null
    }
    if (answers instanceof Promise) {
      this.listen()
      answers.then(
        ([answer]) => this.answered(answer as ClaimAnswer),
        (error) => this.failed(error),
      )
      return null
    }
    return this.consider(answers[0] as ClaimAnswer, sentAtMs)
  }

  answered(answer: ClaimAnswer): void {
    if (this.phase === 'over') {
      this.engine.cleanup.release(this.claim)
      return
    }
    const known = this.consider(answer, this.sentAtMs)
    if (known !== null) this.conclude(known)
  }

  failed(error: LockError): void {
    if (this.phase === 'over') this.engine.cleanup.release(this.claim)
    else this.afterError(error, this.engine.runtime.nowMs() - this.sentAtMs)
  }

  heartbeat(answer: RenewReply, call: HeartbeatCall): void {
    const { sentAtMs, sleeps } = call
    // An attempt that was sent after it knows more.
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

  /** The last answer that was `blocked`, as it would read if it were given now. */
  lastSeen(): Blocked | null {
    if (this.blocked?.holder == null) return this.blocked
    const { label, heldMs } = this.blocked.holder
    const sinceMs = this.engine.runtime.nowMs() - this.blockedSentAtMs
    return { ...this.blocked, holder: { label, heldMs: heldMs === null ? null : heldMs + sinceMs } }
  }

  /** The outage that the wait ends in, if there is one: contention is none, and neither is a wait that is shorter than an answer. */
  outageOf({ waitMs }: Request): StoreError | null {
    return this.outage !== null || this.blocked !== null ? this.outage : silence(waitMs)
  }

  /** Ends the acquisition. What the store may keep of it is released apart from the caller. */
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

  private get once(): boolean {
    return this.request.waitMs === 0
  }

  private ask(): void {
    this.stopLooking()
    this.phase = 'asking'
    this.contended = false
    const known = this.begin(this.engine.runtime.nowMs())
    if (known !== null) this.conclude(known)
  }

  private consider(answer: ClaimAnswer, sentAtMs: number): Grant | Blocked | null {
    if (answer.kind === 'refused') {
      this.leave()
      this.owner.failed(this, refusal(this.request.key, answer))
      return null
    }
    if (answer.kind === 'granted') {
      const nowMs = this.engine.runtime.nowMs()
      const slept = this.engine.watchdog.sleeps() !== this.sleepsAtSend
      const grant = slept ? null : grantOf(answer, this.claim, sentAtMs, nowMs)
      if (grant !== null) {
        this.phase = 'over'
        return this.contended ? { ...grant, contended: true } : grant
      }
      const late = new StoreError('the grant came too late: it had run out before it arrived')
      this.afterError(late)
      return null
    }
    if (this.once) {
      this.leave()
      return answer
    }
    this.outage = null
    this.failures = 0
    this.waitInQueue(answer, sentAtMs)
    return null
  }

  private waitInQueue(answer: Blocked, sentAtMs: number): void {
    const first = this.blocked === null
    this.blocked = answer
    this.blockedSentAtMs = sentAtMs
    this.noteAnswered(sentAtMs, answer.storeTimeMs, this.sleepsAtSend)
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

  /** A store that has a queue keeps the claim's position; where it has none, the claim attempts again and again. */
  private get queued(): boolean {
    if (!this.claim.queue) return false
    return this.engine.store.traits.order === 'fifo' || (this.blocked?.position ?? 0) > 0
  }

  /** A push can be lost, and a holder can die: the bounded fallback for both. */
  private lookAgain({ position, retryAfterMs }: Blocked): void {
    const { spin } = this.request
    const chance = this.engine.runtime.random()
    if (spin !== null) {
      this.lookWithin(spin.everyMs * (1 - spin.jitter * chance))
      return
    }
    // Far back, or where positions are not counted, the heartbeat tells when the turn comes near. A claim that could not join asks again.
    if (this.queued && (position > LOOKING_POSITIONS || (position === 0 && retryAfterMs === null))) return
    const expiryMs = retryAfterMs === null ? Number.POSITIVE_INFINITY : retryAfterMs + EXPIRY_SLACK_MS
    const { crowding } = this
    const everyMs = Math.min(LOOK_MS * crowding, this.claim.ttlMs / 3) * (0.9 + 0.1 * chance)
    this.lookWithin(Math.min(everyMs, Math.max(expiryMs, FIRST_BACKOFF_MS * (crowding - 1))))
  }

  private get crowding(): number {
    return Math.max(1, this.engine.looking / MOST_LOOKS_A_SECOND)
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

  private conclude(known: Grant | Blocked): void {
    this.leave()
    if ('kind' in known && known.kind === 'blocked') {
      this.owner.busy(this, known)
      return
    }
    this.owner.granted(this, known as Grant)
  }

  /** An outage may pass; what else a store throws will not. */
  private afterError(error: LockError, tookMs = 0): void {
    if (this.once || !(error instanceof StoreError)) this.giveUp(error)
    else this.retryLater(error, tookMs)
  }

  /** After a time-out the server may still be at work on the attempt, so the pause is as long as the call, up to the longest one. */
  private retryLater(outage: StoreError, tookMs: number): void {
    this.outage = outage
    this.phase = 'waiting'
    const growingMs = Math.max(FIRST_BACKOFF_MS * 2 ** this.failures++, tookMs)
    const backoffMs = Math.min(growingMs, LONGEST_BACKOFF_MS * this.crowding)
    this.lookWithin(backoffMs * (0.5 + this.engine.runtime.random()))
    // A server that refuses attempts may take heartbeats, as one without memory does: the position lives on.
    if (this.queued && this.blocked !== null && this.bucket === null) this.engine.heartbeats.keep(this)
  }

  private giveUp(error: LockError): void {
    this.cancel()
    this.owner.failed(this, error)
  }

  private listen(): void {
    if (!this.owner.notifies) this.engine.targets.set(this.claim.id, this)
  }

  private stopLooking(): void {
    if (this.index >= 0) this.engine.looking--
    this.engine.waits.remove(this)
  }

  private rest(): void {
    this.stopLooking()
    this.engine.heartbeats.drop(this)
  }

  private leave(): void {
    this.phase = 'over'
    this.rest()
    if (this.owner.notifies) return
    if (this.engine.targets.get(this.claim.id) === this) this.engine.targets.delete(this.claim.id)
  }
}

function refusal(key: string, { reason, message }: Refused): LockError {
  if (reason === 'absent') return new LeaseLostError(key, message)
  const why = `${JSON.stringify(key)}: ${message}`
  return reason === 'format' ? new UnsupportedError(why) : new ConflictError(why)
}

import { ConflictError, LeaseLostError, LockError, StoreError } from '../errors.ts'
import type { Blocked, Claim, ClaimAnswer, Granted, Refused } from '../model/index.ts'
import type { Alarm } from './alarms.ts'
import type { Receiver } from './caller.ts'
import type { Engine, NoticeTarget } from './engine.ts'
import { driftMs, type Grant } from './hold.ts'
import type { Request } from './options.ts'
import type { Soon, StoreNotice } from './store.ts'

type Push = StoreNotice & { kind: 'granted' }

/** Who is told how a pursuit ends. */
export interface Pursuer {
  /** What the store tells about the claim comes through the pursuer; else the claim must be found by its id. */
  readonly hears: boolean
  granted(pursuit: Pursuit, grant: Grant): void
  /** The one attempt of a claim that does not wait was blocked. */
  busy(pursuit: Pursuit, blocked: Blocked): void
  failed(pursuit: Pursuit, error: LockError): void
}

/** Whoever is next looks again about once in an offer's life, in case the one before it is dead; whoever is far behind, less often. */
const NEXT_LOOK_MS = 1000
const LOOK_PER_PLACE_MS = 500
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1000
/** A look at the very moment of an expiry comes too early by the difference of two clocks. */
const EXPIRY_SLACK_MS = 2

type Asked = Soon<readonly ClaimAnswer[]> | LockError

/** One attempt at a store that answers at once; an error at once is an answer, too. */
export function ask(engine: Engine, claim: Claim): Asked {
  try {
    return engine.courier.attempt([claim])
  } catch (error) {
    return error as LockError
  }
}

/** The grant of a store that answers in the same turn; null when it is not granted or not known yet. */
export function grantedAtOnce(answers: Asked, claim: Claim, sentAtMs: number, nowMs: number): Grant | null {
  if (answers instanceof Promise || answers instanceof LockError) return null
  const [answer] = answers
  return answer?.kind === 'granted' ? grantOf(answer, claim, sentAtMs, nowMs) : null
}

/** The grant that an answer gives, counted from before the request was sent; null when it had run out before it came. */
function grantOf(answer: Granted, claim: Claim, sentAtMs: number, nowMs: number): Grant | null {
  const { ttlMs } = claim
  const validUntilMs = sentAtMs + ttlMs - driftMs(ttlMs)
  if (nowMs >= validUntilMs) return null
  return {
    token: answer.token,
    spare: answer.spare,
    contended: answer.contended,
    validUntilMs,
    lifeMs: ttlMs,
  }
}

/** One claim on its way to being held: attempt, wait, attempt, until it is granted, refused or given up. */
export class Pursuit implements NoticeTarget, Alarm, Receiver<ClaimAnswer> {
  readonly claim: Claim
  readonly request: Request
  dueMs = 0
  place = -1
  private readonly engine: Engine
  private readonly pursuer: Pursuer
  private phase: 'asking' | 'waiting' | 'over' = 'asking'
  private blocked: Blocked | null = null
  /** Why the store could not be asked, if the last attempt failed. */
  private outage: StoreError | null = null
  /** When the attempt that is under way was sent; there is one at a time. */
  private sentAtMs = 0
  private blockedSentAtMs = 0
  private failures = 0
  /** A grant that was pushed while an attempt was under way: the answer may have been given before it. */
  private push: Push | null = null
  /** Others wait already, said a push that overtook the answer. */
  private contended = false

  constructor(engine: Engine, claim: Claim, request: Request, pursuer: Pursuer) {
    this.engine = engine
    this.claim = claim
    this.request = request
    this.pursuer = pursuer
  }

  /** Makes an attempt. What an immediate store says at once is returned; else null, and the pursuer is told, perhaps at once. */
  begin(sentAtMs: number): Grant | Blocked | null {
    const { courier } = this.engine
    if (courier.immediate) return this.follow(ask(this.engine, this.claim), sentAtMs)
    this.sentAtMs = sentAtMs
    this.listen()
    courier.postAttempt(this.claim, this)
    return null
  }

  /** Goes on from an attempt that was made already. */
  follow(answers: Asked, sentAtMs: number): Grant | Blocked | null {
    this.sentAtMs = sentAtMs
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
      this.engine.abandoned.release(this.claim)
      return
    }
    const known = this.consider(answer, this.sentAtMs)
    if (known !== null) this.conclude(known)
  }

  failed(error: LockError): void {
    if (this.phase === 'over') this.engine.abandoned.release(this.claim)
    else this.afterError(error)
  }

  /** The last answer that was `blocked`, as it would read if it were given now. */
  lastSeen(): Blocked | null {
    if (this.blocked?.holder == null) return this.blocked
    const { label, heldMs } = this.blocked.holder
    const sinceMs = this.engine.runtime.nowMs() - this.blockedSentAtMs
    return { ...this.blocked, holder: { label, heldMs: heldMs === null ? null : heldMs + sinceMs } }
  }

  /** The outage that the wait ends in, if the store did not answer: that is not contention. */
  unanswered(): StoreError | null {
    if (this.outage !== null || this.blocked !== null) return this.outage
    return new StoreError('the store did not answer within the wait')
  }

  /** Ends the pursuit. What the store may keep of it is released apart from the caller. */
  cancel(): void {
    if (this.phase === 'over') return
    this.leave()
    this.engine.abandoned.release(this.claim)
  }

  ring(): void {
    this.ask()
  }

  notice(notice: StoreNotice): void {
    if (this.phase === 'over') return
    if (notice.kind === 'granted') {
      if (this.phase === 'asking') this.push = notice
      else this.accept(notice)
    } else if (notice.kind === 'lost' && this.phase === 'waiting') {
      this.ask()
    } else if (notice.kind === 'contended') {
      this.contended = true
    }
  }

  private get once(): boolean {
    return this.request.waitMs === 0
  }

  private ask(): void {
    this.engine.waits.remove(this)
    this.phase = 'asking'
    this.contended = false
    const known = this.begin(this.engine.runtime.nowMs())
    if (known !== null) this.conclude(known)
  }

  private consider(answer: ClaimAnswer, sentAtMs: number): Grant | Blocked | null {
    if (answer.kind === 'refused') {
      this.leave()
      this.pursuer.failed(this, refusal(this.request.key, answer))
      return null
    }
    if (answer.kind === 'granted') {
      const grant = grantOf(answer, this.claim, sentAtMs, this.engine.runtime.nowMs())
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
    this.waitInLine(answer, sentAtMs)
    return null
  }

  private waitInLine(answer: Blocked, sentAtMs: number): void {
    const first = this.blocked === null
    this.blocked = answer
    this.blockedSentAtMs = sentAtMs
    this.phase = 'waiting'
    this.listen()
    if (first && this.engine.events.has('waiting')) {
      const { position, holder } = answer
      this.engine.events.emit('waiting', { key: this.request.key, position, holder: holder?.label ?? null })
    }
    const { push } = this
    this.push = null
    this.engine.waits.set(this, this.engine.runtime.nowMs() + this.lookAgainMs(answer))
    if (push !== null) this.accept(push)
  }

  /** A push can be lost, and a holder can die: the bounded fallback for both. */
  private lookAgainMs({ position, retryAfterMs }: Blocked): number {
    const { spin } = this.request
    const chance = this.engine.runtime.random()
    if (spin !== null) return spin.everyMs * (1 - spin.jitter * chance)
    const keepPlaceMs = (this.claim.ttlMs / 3) * (0.9 + 0.1 * chance)
    const lookMs = Math.max(NEXT_LOOK_MS, position * LOOK_PER_PLACE_MS)
    const expiryMs =
      retryAfterMs === null || position > 2 ? Number.POSITIVE_INFINITY : retryAfterMs + EXPIRY_SLACK_MS
    return Math.min(keepPlaceMs, expiryMs, lookMs)
  }

  /**
   * A pushed grant counts from the send time of the last request that was answered `blocked`, plus the time that the
   * store's own clock says lay between that answer and the grant. A grant older than that answer is history.
   */
  private accept(push: Push): void {
    const { blocked } = this
    const laterMs = blocked === null ? -1 : push.storeTimeMs - blocked.storeTimeMs
    const wholeMs = laterMs + push.lifeMs
    const validUntilMs = this.blockedSentAtMs + wholeMs - driftMs(wholeMs)
    const confirmed = push.lifeMs >= this.claim.ttlMs || this.request.renew
    const leftMs = validUntilMs - this.engine.runtime.nowMs()
    if (laterMs < 0 || !confirmed || leftMs < push.lifeMs / 2) {
      this.ask()
      return
    }
    const { token, spare, contended, lifeMs } = push
    this.conclude({ token, spare, contended, validUntilMs, lifeMs })
  }

  private conclude(known: Grant | Blocked): void {
    this.leave()
    if ('kind' in known && known.kind === 'blocked') {
      this.pursuer.busy(this, known)
      return
    }
    this.pursuer.granted(this, known as Grant)
  }

  /** An outage may pass; what else a store throws will not. */
  private afterError(error: LockError): void {
    if (this.once || !(error instanceof StoreError)) this.giveUp(error)
    else this.retryLater(error)
  }

  private retryLater(outage: StoreError): void {
    this.outage = outage
    this.phase = 'waiting'
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** this.failures++, LONGEST_BACKOFF_MS)
    this.engine.waits.set(
      this,
      this.engine.runtime.nowMs() + backoffMs * (0.5 + this.engine.runtime.random()),
    )
  }

  private giveUp(error: LockError): void {
    this.cancel()
    this.pursuer.failed(this, error)
  }

  private listen(): void {
    if (!this.pursuer.hears) this.engine.targets.set(this.claim.id, this)
  }

  private leave(): void {
    this.phase = 'over'
    this.engine.waits.remove(this)
    if (this.pursuer.hears) return
    if (this.engine.targets.get(this.claim.id) === this) this.engine.targets.delete(this.claim.id)
  }
}

function refusal(key: string, { reason, message }: Refused): LockError {
  return reason === 'absent'
    ? new LeaseLostError(key, message)
    : new ConflictError(`${JSON.stringify(key)}: ${message}`)
}

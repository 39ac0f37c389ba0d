import { ClosedError, type LockError, type StoreError, type TimeoutDetails } from '../errors.ts'
import type { Blocked, Claim } from '../model/index.ts'
import { ask, grantedAtOnce, type Pursuer, Pursuit } from './acquire.ts'
import type { Engine, NoticeTarget } from './engine.ts'
import type { Grant, Hold } from './hold.ts'
import { type LeaseHome, StoreLease } from './lease.ts'
import type { Request } from './options.ts'
import { type Outcome, Releasing } from './release.ts'
import type { Soon, StoreNotice } from './store.ts'
import { type Busy, busyAtOnce, detailsOf, Ticket, type TicketHome, tellTurnedAway } from './ticket.ts'

/** How often, and for how long, a claim is handed over while others wait for the key in the store's line. */
const HANDOVERS_WHEN_CONTENDED = 5
const HANDOVER_MS_WHEN_CONTENDED = 1000
/** To wake another process takes about this long: whoever gives the key away sooner spends most of the time on that. */
const WORTH_A_WAKE_UP_MS = 1
const KEPT_GATES = 256

/** The local line of exclusive claims: at most one claim per key in the store, handed from holder to holder. */
export class Turnstile {
  private readonly gates = new Map<string, Gate>()
  private readonly engine: Engine
  private sweepAt = KEPT_GATES

  constructor(engine: Engine) {
    this.engine = engine
    engine.turnstile = this
  }

  enter(request: Request): Soon<StoreLease | Busy> {
    const { storeKey } = request
    let gate = this.gates.get(storeKey)
    if (gate === undefined) {
      gate = new Gate(this.engine)
      this.gates.set(storeKey, gate)
      if (this.gates.size > this.sweepAt) this.sweep()
    }
    return gate.idle ? gate.open(request) : gate.queue(request)
  }

  /** What the store tells about a claim that is held or wanted through a gate. */
  notice(notice: StoreNotice): void {
    this.gates.get(notice.key)?.notice(notice)
  }

  get waiting(): number {
    let waiting = 0
    for (const gate of this.gates.values()) waiting += gate.waiting
    return waiting
  }

  close(quietly: boolean): void {
    for (const gate of this.gates.values()) gate.close(quietly)
    this.gates.clear()
  }

  /** An idle gate is kept for the next to come; it goes when there are many, at a price spread over as many entries. */
  private sweep(): void {
    for (const [key, gate] of this.gates) if (gate.idle) this.gates.delete(key)
    this.sweepAt = Math.max(KEPT_GATES, this.gates.size * 2)
  }
}

class Gate implements Pursuer, LeaseHome, TicketHome, NoticeTarget {
  readonly hears = true
  private readonly engine: Engine
  private readonly tickets: Ticket[] = []
  private pursuit: Pursuit | null = null
  private lease: StoreLease | null = null
  /** Why the first attempt failed before there was a ticket to tell. */
  private refusal: LockError | null = null
  /** Hand-overs of the present hold so far. */
  private passed = 0

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** Nobody holds the key through this gate and nobody is after it. */
  get idle(): boolean {
    return this.lease === null && this.pursuit === null && this.tickets.length === 0
  }

  get waiting(): number {
    return this.tickets.length
  }

  /** The first to come; the store may answer at once. */
  open(request: Request): Soon<StoreLease | Busy> {
    const { engine } = this
    const claim = engine.claimOf(request)
    const sinceMs = engine.runtime.nowMs()
    if (!engine.courier.immediate) {
      this.pursuit = new Pursuit(engine, claim, request, this)
      const ticket = this.line(request, sinceMs)
      this.pursuit.begin(sinceMs)
      return ticket.promise
    }
    const answers = ask(engine, claim)
    const nowMs = engine.runtime.nowMs()
    const grant = grantedAtOnce(answers, claim, sinceMs, nowMs)
    if (grant !== null) return this.admit(claim, request, grant, sinceMs, nowMs)
    this.pursuit = new Pursuit(engine, claim, request, this)
    this.refusal = null
    const known = this.pursuit.follow(answers, sinceMs)
    if (this.refusal !== null) {
      tellTurnedAway(engine, request, 'failed', 0)
      throw this.refusal
    }
    if (known === null) return this.line(request, sinceMs).promise
    this.pursuit = null
    return busyAtOnce(engine, request, detailsOf(request, 0, known as Blocked))
  }

  queue(request: Request): Soon<StoreLease | Busy> {
    if (request.waitMs === 0)
      return busyAtOnce(this.engine, request, this.details(request, 0, this.tickets.length))
    return this.line(request, this.engine.runtime.nowMs()).promise
  }

  notice(notice: StoreNotice): void {
    const hold = this.lease?.hold
    if (hold?.claim.id === notice.id) hold.notice(notice)
    else if (this.pursuit?.claim.id === notice.id) this.pursuit.notice(notice)
  }

  granted(pursuit: Pursuit, grant: Grant): void {
    this.pursuit = null
    const ticket = this.tickets.shift()
    if (ticket === undefined) {
      this.engine.abandoned.release(pursuit.claim)
      return
    }
    const nowMs = this.engine.runtime.nowMs()
    ticket.serve(this.admit(pursuit.claim, ticket.request, grant, ticket.sinceMs, nowMs))
  }

  busy(_pursuit: Pursuit, blocked: Blocked): void {
    this.pursuit = null
    const ticket = this.tickets.shift()
    ticket?.turnAway(detailsOf(ticket.request, ticket.waitedMs, blocked))
    this.next()
  }

  failed(_pursuit: Pursuit, error: LockError): void {
    this.pursuit = null
    const ticket = this.tickets.shift()
    if (ticket === undefined) this.refusal = error
    else ticket.fail(error)
    this.next()
  }

  release(lease: StoreLease): Soon<Outcome> | Releasing {
    const { hold } = lease
    const next = this.tickets[0]
    if (next !== undefined && lease === this.lease && this.mayHandOver(lease, next.request)) {
      if (this.isFresh(hold)) return this.handOver(hold)
      const renewed = this.engine.watchdog.renewNow(hold)
      if (renewed instanceof Promise) return renewed.then(() => Releasing.settled(this.passOn(lease)))
    }
    return this.passOn(lease)
  }

  leave(lease: StoreLease): void {
    if (lease !== this.lease) return
    this.lease = null
    this.next()
  }

  close(quietly: boolean): void {
    this.pursuit?.cancel()
    this.pursuit = null
    for (const ticket of this.tickets.splice(0)) if (!quietly) ticket.fail(new ClosedError())
  }

  /** After a renewal that was needed first, or when nobody can take over: hand over if it may be, else give the key back. */
  private passOn(lease: StoreLease): Soon<Outcome> | Releasing {
    const { hold } = lease
    if (hold.ended) {
      this.leave(lease)
      return 'expired'
    }
    const next = this.tickets[0]
    if (next !== undefined && this.isFresh(hold) && this.mayHandOver(lease, next.request))
      return this.handOver(hold)
    const wasCurrent = lease === this.lease
    if (wasCurrent) this.lease = null
    try {
      return this.engine.letGo(hold)
    } finally {
      // The release is on its way, so the next local claim follows it and does not wait for its answer.
      if (wasCurrent) this.next()
    }
  }

  private isFresh(hold: Hold): boolean {
    return this.engine.runtime.nowMs() + hold.lifeMs / 2 <= hold.validUntilMs
  }

  private mayHandOver(lease: StoreLease, next: Request): boolean {
    const { hold } = lease
    const { engine } = this
    const nowMs = engine.runtime.nowMs()
    if (!engine.settings.handover || engine.closing || !lease.settled || !hold.trusted(nowMs)) return false
    if (this.passed >= hold.spare || !fitsClaim(hold.claim, next) || !hold.autoRenew) return false
    if (!hold.contended) return true
    const contendedMs = nowMs - hold.contendedSinceMs
    if (contendedMs < WORTH_A_WAKE_UP_MS) return true
    return this.passed < HANDOVERS_WHEN_CONTENDED && contendedMs < HANDOVER_MS_WHEN_CONTENDED
  }

  private handOver(hold: Hold): 'released' {
    const ticket = this.tickets.shift() as Ticket
    const { request } = ticket
    this.passed++
    const token = hold.token === null ? null : hold.token + BigInt(this.passed)
    const nowMs = this.engine.runtime.nowMs()
    hold.renewUntilMs = nowMs + request.maxHoldMs
    this.lease = new StoreLease(this.engine, hold, request, token, ticket.sinceMs, nowMs, this)
    if (this.engine.events.has('handedOver'))
      this.engine.events.emit('handedOver', { key: request.key, token })
    this.engine.tellGranted(this.lease, true)
    ticket.serve(this.lease)
    return 'released'
  }

  private admit(claim: Claim, request: Request, grant: Grant, sinceMs: number, nowMs: number): StoreLease {
    this.pursuit = null
    this.passed = 0
    const hold = this.engine.hold(claim, request, grant, nowMs)
    this.lease = new StoreLease(this.engine, hold, request, grant.token, sinceMs, nowMs, this)
    this.engine.tellGranted(this.lease, false)
    return this.lease
  }

  private line(request: Request, sinceMs: number): Ticket {
    const ticket = new Ticket(this.engine, request, sinceMs, this)
    this.tickets.push(ticket)
    return ticket
  }

  /** A waiter leaves; its place in the store's line is kept for the next local one, if that wants the same. */
  abandon(leaving: Ticket): StoreError | TimeoutDetails {
    const place = this.tickets.indexOf(leaving)
    const why = this.pursuit?.unanswered() ?? this.details(leaving.request, leaving.waitedMs, place)
    this.tickets.splice(place, 1)
    const { pursuit } = this
    const next = this.tickets[0]
    if (place > 0 || pursuit === null || (next !== undefined && fitsPursuit(pursuit, next.request)))
      return why
    pursuit.cancel()
    this.pursuit = null
    this.next()
    return why
  }

  /** The key is not ours any more: go for it on behalf of the next local waiter. */
  private next(): void {
    if (this.lease !== null || this.pursuit !== null) return
    const ticket = this.tickets[0]
    if (ticket === undefined) return
    const claim = this.engine.claimOf(ticket.request)
    const pursuit = new Pursuit(this.engine, claim, ticket.request, this)
    this.pursuit = pursuit
    const known = pursuit.begin(this.engine.runtime.nowMs())
    if (known === null) return
    if ('kind' in known && known.kind === 'blocked') this.busy(pursuit, known)
    else this.granted(pursuit, known as Grant)
  }

  private details(request: Request, waitedMs: number, ahead: number): TimeoutDetails {
    if (this.lease !== null) {
      const heldMs = this.engine.runtime.nowMs() - this.lease.grantedAtMs
      return { key: request.key, waitedMs, holder: this.engine.settings.label, heldMs, position: ahead + 1 }
    }
    return detailsOf(request, waitedMs, this.pursuit?.lastSeen() ?? null, ahead)
  }
}

/** What an operator sees of the claim, and how long it lives, must be true of the next holder too. */
function fitsClaim(claim: Claim, { ttlMs, meta, actor, renew }: Request): boolean {
  return claim.ttlMs === ttlMs && claim.meta === meta && claim.actor === actor && renew
}

function fitsPursuit({ claim, request }: Pursuit, next: Request): boolean {
  return fitsClaim(claim, next) && request.renew && claim.queue
}

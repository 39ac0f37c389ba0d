import { ClosedError, type LockError, type StoreError, type TimeoutDetails } from '../errors.ts'
import type { Blocked, Claim } from '../model/index.ts'
import { type Pursuer, Pursuit } from './acquire.ts'
import type { Engine } from './engine.ts'
import type { Grant, Hold } from './hold.ts'
import { type LeaseHome, StoreLease } from './lease.ts'
import type { Request } from './options.ts'
import type { Soon } from './store.ts'
import { Busy, Ticket } from './ticket.ts'

/** How often, and for how long, a claim is handed over while others wait for the key in the store's line. */
const HANDOVERS_WHEN_CONTENDED = 16
const HANDOVER_MS_WHEN_CONTENDED = 1000

/** The local line of exclusive claims: at most one claim per key in the store, handed from holder to holder. */
export class Turnstile {
  private readonly gates = new Map<string, Gate>()
  private readonly engine: Engine

  constructor(engine: Engine) {
    this.engine = engine
  }

  enter(request: Request): Soon<StoreLease | Busy> {
    const gate = this.gates.get(request.storeKey)
    if (gate !== undefined) return gate.queue(request)
    const opened = new Gate(this.engine, request.storeKey, this.gates)
    return opened.open(request)
  }

  get waiting(): number {
    let waiting = 0
    for (const gate of this.gates.values()) waiting += gate.waiting
    return waiting
  }

  close(): void {
    for (const gate of [...this.gates.values()]) gate.close()
  }
}

class Gate implements Pursuer, LeaseHome {
  private readonly engine: Engine
  private readonly storeKey: string
  private readonly gates: Map<string, Gate>
  private readonly tickets: Ticket[] = []
  private pursuit: Pursuit | null = null
  private lease: StoreLease | null = null
  /** Hand-overs of the present hold so far. */
  private passed = 0

  constructor(engine: Engine, storeKey: string, gates: Map<string, Gate>) {
    this.engine = engine
    this.storeKey = storeKey
    this.gates = gates
  }

  get waiting(): number {
    return this.tickets.length
  }

  /** The first to come; the store may answer at once. */
  open(request: Request): Soon<StoreLease | Busy> {
    const claim = this.engine.claimOf(request)
    const pursuit = new Pursuit(this.engine, claim, request, this)
    this.pursuit = pursuit
    this.gates.set(this.storeKey, this)
    const sinceMs = this.engine.runtime.nowMs()
    let failure: LockError | null = null
    this.onFirst = (error) => {
      failure = error
    }
    const known = pursuit.begin()
    this.onFirst = null
    if (failure !== null) {
      this.shut()
      throw failure
    }
    if (known === null) return this.line(request, sinceMs).promise
    if ('kind' in known && known.kind === 'blocked') {
      this.shut()
      return new Busy(detailsOf(request, 0, known, known.position))
    }
    return this.admit(claim, request, known as Grant, 0)
  }

  queue(request: Request): Soon<StoreLease | Busy> {
    if (request.waitMs === 0) return new Busy(this.details(request, 0, this.tickets.length))
    return this.line(request, this.engine.runtime.nowMs()).promise
  }

  granted(pursuit: Pursuit, grant: Grant): void {
    this.pursuit = null
    const ticket = this.tickets.shift()
    if (ticket === undefined) {
      this.engine.abandoned.release(pursuit.claim)
      this.shut()
      return
    }
    ticket.serve(this.admit(pursuit.claim, ticket.request, grant, ticket.waitedMs))
  }

  busy(_pursuit: Pursuit, blocked: Blocked): void {
    this.pursuit = null
    const ticket = this.tickets.shift()
    ticket?.turnAway(detailsOf(ticket.request, ticket.waitedMs, blocked, blocked.position))
    this.next()
  }

  failed(_pursuit: Pursuit, error: LockError): void {
    this.pursuit = null
    if (this.onFirst !== null) {
      this.onFirst(error)
      return
    }
    this.tickets.shift()?.fail(error)
    this.next()
  }

  release(lease: StoreLease): Soon<'released' | 'expired'> {
    const { hold } = lease
    const next = this.tickets[0]
    if (next !== undefined && lease === this.lease && this.mayHandOver(lease, next.request)) {
      if (this.engine.runtime.nowMs() + hold.lifeMs / 2 <= hold.validUntilMs) return this.handOver(hold)
      const renewed = this.engine.watchdog.renewNow(hold)
      if (renewed instanceof Promise) return renewed.then(() => this.passOn(lease))
    }
    return this.passOn(lease)
  }

  leave(lease: StoreLease): void {
    if (lease !== this.lease) return
    this.lease = null
    this.next()
  }

  close(): void {
    this.pursuit?.cancel()
    this.pursuit = null
    this.shut()
    for (const ticket of this.tickets.splice(0)) ticket.fail(new ClosedError())
  }

  /** Set while the first attempt runs, whose failure is thrown to the caller instead of rejecting a ticket. */
  private onFirst: ((error: LockError) => void) | null = null

  /** After a renewal that was needed first, or when nobody can take over: hand over if it may be, else give the key back. */
  private passOn(lease: StoreLease): Soon<'released' | 'expired'> {
    const { hold } = lease
    if (hold.ended) return 'expired'
    const next = this.tickets[0]
    const fresh = this.engine.runtime.nowMs() + hold.lifeMs / 2 <= hold.validUntilMs
    if (next !== undefined && fresh && this.mayHandOver(lease, next.request)) return this.handOver(hold)
    const wasCurrent = lease === this.lease
    if (wasCurrent) this.lease = null
    try {
      return this.engine.letGo(hold)
    } finally {
      // The release is on its way, so the next local claim follows it and does not wait for its answer.
      if (wasCurrent) this.next()
    }
  }

  private mayHandOver(lease: StoreLease, next: Request): boolean {
    const { hold } = lease
    const { engine } = this
    const nowMs = engine.runtime.nowMs()
    if (!engine.settings.handover || engine.closing || !lease.settled || !hold.trusted(nowMs)) return false
    if (this.passed >= hold.spare || !fitsClaim(hold.claim, next) || !hold.autoRenew) return false
    if (!hold.contended) return true
    return this.passed < HANDOVERS_WHEN_CONTENDED && nowMs - hold.contendedSinceMs < HANDOVER_MS_WHEN_CONTENDED
  }

  private handOver(hold: Hold): 'released' {
    const ticket = this.tickets.shift() as Ticket
    const { request } = ticket
    this.passed++
    const token = hold.token === null ? null : hold.token + BigInt(this.passed)
    hold.renewUntilMs = this.engine.runtime.nowMs() + request.maxHoldMs
    this.lease = new StoreLease(this.engine, hold, request, token, ticket.waitedMs, this)
    this.engine.events.emit('handedOver', { key: request.key, token })
    this.tellGranted(this.lease, true)
    ticket.serve(this.lease)
    return 'released'
  }

  private admit(claim: Claim, request: Request, grant: Grant, waitedMs: number): StoreLease {
    this.pursuit = null
    this.passed = 0
    const hold = this.engine.hold(claim, request, grant)
    this.lease = new StoreLease(this.engine, hold, request, grant.token, waitedMs, this)
    this.tellGranted(this.lease, false)
    return this.lease
  }

  private tellGranted({ key, token, waitedMs }: StoreLease, handedOver: boolean): void {
    if (this.engine.events.has('granted')) this.engine.events.emit('granted', { key, token, waitedMs, handedOver })
  }

  private line(request: Request, sinceMs: number): Ticket {
    const ticket = new Ticket(this.engine, request, sinceMs, (leaving) => this.abandon(leaving))
    this.tickets.push(ticket)
    return ticket
  }

  /** A waiter leaves; its place in the store's line is kept for the next local one, if that wants the same. */
  private abandon(leaving: Ticket): StoreError | TimeoutDetails {
    const place = this.tickets.indexOf(leaving)
    const why = this.pursuit?.outage ?? this.details(leaving.request, leaving.waitedMs, place)
    this.tickets.splice(place, 1)
    const { pursuit } = this
    const next = this.tickets[0]
    if (place > 0 || pursuit === null || (next !== undefined && fitsPursuit(pursuit, next.request))) return why
    pursuit.cancel()
    this.pursuit = null
    this.next()
    return why
  }

  /** The key is not ours any more: go for it on behalf of the next local waiter. */
  private next(): void {
    if (this.lease !== null || this.pursuit !== null) return
    const ticket = this.tickets[0]
    if (ticket === undefined) {
      this.shut()
      return
    }
    const claim = this.engine.claimOf(ticket.request)
    const pursuit = new Pursuit(this.engine, claim, ticket.request, this)
    this.pursuit = pursuit
    const known = pursuit.begin()
    if (known === null) return
    if ('kind' in known && known.kind === 'blocked') this.busy(pursuit, known)
    else this.granted(pursuit, known as Grant)
  }

  private details(request: Request, waitedMs: number, ahead: number): TimeoutDetails {
    if (this.lease !== null) {
      const heldMs = this.engine.runtime.nowMs() - this.lease.grantedAtMs
      return { key: request.key, waitedMs, holder: this.engine.settings.label, heldMs, position: ahead + 1 }
    }
    const blocked = this.pursuit?.blocked ?? null
    return detailsOf(request, waitedMs, blocked, (blocked?.position ?? 1) + ahead)
  }

  private shut(): void {
    if (this.gates.get(this.storeKey) === this) this.gates.delete(this.storeKey)
  }
}

export function detailsOf(request: Request, waitedMs: number, blocked: Blocked | null, position: number): TimeoutDetails {
  const { label = null, heldMs = null } = blocked?.holder ?? {}
  return { key: request.key, waitedMs, holder: label, heldMs, position }
}

/** What an operator sees of the claim, and how long it lives, must be true of the next holder too. */
function fitsClaim(claim: Claim, { ttlMs, meta, actor, renew }: Request): boolean {
  return claim.ttlMs === ttlMs && claim.meta === meta && claim.actor === actor && renew
}

function fitsPursuit({ claim, request }: Pursuit, next: Request): boolean {
  return fitsClaim(claim, next) && request.renew && claim.queue && next.spin === null
}

import { ClosedError, type LockError, type StoreError, type TimeoutDetails } from '../errors.ts'
import type { Blocked, Claim, ClaimAnswer } from '../model/index.ts'
import { type Pursuer, Pursuit } from './acquire.ts'
import type { Engine } from './engine.ts'
import type { Grant } from './hold.ts'
import { StoreLease } from './lease.ts'
import type { Request } from './options.ts'
import type { Soon } from './store.ts'
import { type Busy, busyAtOnce, detailsOf, Ticket, type TicketHome, tellTurnedAway } from './ticket.ts'

/** Claims that go to the store one by one: shared, permits, named owners, members of a group, adoptions. */
export class Soloists {
  private readonly engine: Engine
  private readonly open = new Set<Soloist>()
  /** Claims of groups that are being asked for in one step. */
  private readonly together = new Set<readonly Claim[]>()

  constructor(engine: Engine) {
    this.engine = engine
  }

  get waiting(): number {
    return this.open.size
  }

  enter(request: Request, claim: Claim = this.engine.claimOf(request)): Soon<StoreLease | Busy> {
    // A group goes on key by key after its first attempt, and may find the doors closed by then.
    if (this.engine.closing) throw new ClosedError()
    return new Soloist(this.engine, this.open).enter(request, claim)
  }

  /** One attempt at several claims together. */
  async askTogether(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    this.together.add(claims)
    try {
      const answers = await this.engine.courier.attempt(claims)
      if (this.engine.closing) throw new ClosedError()
      return answers
    } finally {
      this.together.delete(claims)
    }
  }

  close(quietly: boolean): void {
    for (const soloist of [...this.open]) soloist.close(quietly)
    for (const claims of this.together) for (const claim of claims) this.engine.abandoned.release(claim)
  }
}

class Soloist implements Pursuer, TicketHome {
  readonly hears = false
  private readonly engine: Engine
  private readonly open: Set<Soloist>
  private pursuit: Pursuit | null = null
  private ticket: Ticket | null = null
  private failure: LockError | null = null

  constructor(engine: Engine, open: Set<Soloist>) {
    this.engine = engine
    this.open = open
  }

  enter(request: Request, claim: Claim): Soon<StoreLease | Busy> {
    this.pursuit = new Pursuit(this.engine, claim, request, this)
    const sinceMs = this.engine.runtime.nowMs()
    if (!this.engine.courier.immediate) {
      const ticket = this.wait(request, sinceMs)
      this.pursuit.begin(sinceMs)
      return ticket.promise
    }
    const known = this.pursuit.begin(sinceMs)
    if (this.failure !== null) {
      tellTurnedAway(this.engine, request, 'failed', 0)
      throw this.failure
    }
    if (known === null) return this.wait(request, sinceMs).promise
    if ('kind' in known && known.kind === 'blocked')
      return busyAtOnce(this.engine, request, detailsOf(request, 0, known))
    return this.lease(claim, request, known as Grant, sinceMs)
  }

  granted({ claim, request }: Pursuit, grant: Grant): void {
    this.open.delete(this)
    const ticket = this.ticket as Ticket
    ticket.serve(this.lease(claim, request, grant, ticket.sinceMs))
  }

  busy(_pursuit: Pursuit, blocked: Blocked): void {
    this.open.delete(this)
    const ticket = this.ticket as Ticket
    ticket.turnAway(detailsOf(ticket.request, ticket.waitedMs, blocked))
  }

  failed(_pursuit: Pursuit, error: LockError): void {
    this.open.delete(this)
    if (this.ticket === null) this.failure = error
    else this.ticket.fail(error)
  }

  close(quietly: boolean): void {
    this.open.delete(this)
    this.pursuit?.cancel()
    if (!quietly) this.ticket?.fail(new ClosedError())
  }

  abandon(ticket: Ticket): StoreError | TimeoutDetails {
    this.open.delete(this)
    const pursuit = this.pursuit as Pursuit
    const unanswered = pursuit.unanswered()
    pursuit.cancel()
    return unanswered ?? detailsOf(ticket.request, ticket.waitedMs, pursuit.lastSeen())
  }

  private wait(request: Request, sinceMs: number): Ticket {
    this.open.add(this)
    this.ticket = new Ticket(this.engine, request, sinceMs, this)
    return this.ticket
  }

  private lease(claim: Claim, request: Request, grant: Grant, sinceMs: number): StoreLease {
    const nowMs = this.engine.runtime.nowMs()
    const settled = claim.replaces === null ? claim : { ...claim, replaces: null }
    const hold = this.engine.hold(settled, request, grant, nowMs)
    this.engine.listen(hold)
    const lease = new StoreLease(this.engine, hold, request, grant.token, sinceMs, nowMs, null)
    this.engine.tellGranted(lease, false)
    return lease
  }
}

import { type TimerEntry, TimerHeap } from '../../core/calls/timer-heap.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { EtcdLease } from './client/leases.ts'
import type { ClaimValue } from './format.ts'

/** The answer of the queue; `gone` when the claim is no longer in etcd. */
export type QueueAnswer = ClaimAnswer | { readonly kind: 'gone' }

/** The key of a claim as this store wrote or read it. */
export interface StoredClaim {
  readonly name: string
  readonly value: ClaimValue
  readonly created: number
  readonly changed: number
  /** The revision of its arrival, by which the queue is ordered. */
  readonly order: number
}

/** A claim that this store has in etcd, as far as it knows. */
export class LocalClaim implements TimerEntry {
  claim: Claim
  /** `joining`: it arrived, and may or may not have its position yet. */
  state: 'joining' | 'waiting' | 'held'
  name: string
  value: ClaimValue
  created: number
  changed: number
  readonly order: number
  /** The revision of the grant; 0 while it waits. */
  seq = 0
  /** Its position in the queue when it was last counted, which may be long ago. */
  position = 0
  /** The lease of its key. */
  lease: EtcdLease
  /** The lease of the hold to come, which counts this claim among its waiters. */
  nextLease: EtcdLease | null = null
  /** The name of the key that closes the lock if the claim expires. */
  shutName: string | null = null
  /** A live process ends its claims itself, to the millisecond; the lease ends those of a dead one. */
  endsAtMs: number
  /** An unrequested grant ends early unless it is confirmed. */
  offerEndsAtMs = Number.POSITIVE_INFINITY
  /** The time to notify the holders that this claim waits. */
  tellAtMs = Number.POSITIVE_INFINITY
  told = false
  stopWatch: (() => void) | null = null
  /** A look at the queue in flight; `asked` if an attempt wants its answer, which then is no offer. */
  looking: Promise<QueueAnswer> | null = null
  asked = false
  /** A hold that an attempt or a renewal has confirmed: it is no offer any more. */
  confirmed = false
  dueMs = 0
  index = -1
  private readonly home: LocalClaims

  constructor(
    home: LocalClaims,
    claim: Claim,
    state: LocalClaim['state'],
    stored: StoredClaim,
    lease: EtcdLease,
    sentAtMs: number,
  ) {
    this.home = home
    this.claim = claim
    this.state = state
    this.name = stored.name
    this.value = stored.value
    this.created = stored.created
    this.changed = stored.changed
    this.order = stored.order
    this.lease = lease
    this.endsAtMs = sentAtMs + claim.ttlMs
  }

  fire(nowMs: number): void {
    this.home.fire(this, nowMs)
  }
}

/** `expired`: its time is up, and it is no longer a local claim. `contended`: notify the holders that it waits. */
export type Due = (local: LocalClaim, event: 'expired' | 'contended') => void

/** The claims of this store, with one timer for all their deadlines. */
export class LocalClaims {
  private readonly due: Due
  private readonly byId = new Map<string, LocalClaim>()
  private readonly alarms: TimerHeap
  /** Claims whose deletion is in flight: nothing else can be done with them. */
  readonly dying = new Map<string, Promise<void>>()

  constructor(runtime: Runtime, due: Due) {
    this.due = due
    this.alarms = new TimerHeap(runtime, true)
  }

  get({ key, id }: Pick<Claim, 'key' | 'id'>): LocalClaim | undefined {
    const local = this.byId.get(id)
    return local?.claim.key === key ? local : undefined
  }

  add(local: LocalClaim): void {
    this.byId.set(local.claim.id, local)
    if (local.nextLease !== null) local.nextLease.waiters++
    this.watch(local)
  }

  /** Sets the timer anew, after a deadline of the claim has changed. */
  watch(local: LocalClaim): void {
    const { endsAtMs, offerEndsAtMs, tellAtMs } = local
    if (this.has(local)) this.alarms.set(local, Math.min(endsAtMs, offerEndsAtMs, tellAtMs))
  }

  /** Forgets the claim; false when another has replaced it. */
  drop(local: LocalClaim): boolean {
    if (!this.has(local)) return false
    this.byId.delete(local.claim.id)
    this.alarms.remove(local)
    this.stopWaiting(local)
    return true
  }

  stopWaiting(local: LocalClaim): void {
    local.stopWatch?.()
    local.stopWatch = null
    if (local.nextLease !== null) local.nextLease.waiters--
    local.nextLease = null
    local.tellAtMs = Number.POSITIVE_INFINITY
  }

  has(local: LocalClaim): boolean {
    return this.byId.get(local.claim.id) === local
  }

  close(): void {
    this.alarms.clear()
    for (const local of this.byId.values()) local.stopWatch?.()
    this.byId.clear()
  }

  /** Called by the timer. */
  fire(local: LocalClaim, nowMs: number): void {
    if (nowMs >= Math.min(local.endsAtMs, local.offerEndsAtMs)) {
      if (this.drop(local)) this.due(local, 'expired')
      return
    }
    if (nowMs >= local.tellAtMs) {
      local.tellAtMs = Number.POSITIVE_INFINITY
      this.due(local, 'contended')
    }
    this.watch(local)
  }
}

import type { Runtime, Timer } from '../../core/runtime.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { Lease } from './client/leases.ts'
import type { ClaimValue } from './format.ts'

/** What a look at the queue gave; `gone` when the claim is not in etcd any more. */
export type Look = ClaimAnswer | { readonly kind: 'gone' }

/** A claim that this store has in etcd, as far as it knows. */
export interface LocalClaim {
  claim: Claim
  /** `joining`: it arrived, and may or may not have its position yet. */
  state: 'joining' | 'waiting' | 'held'
  name: string
  value: ClaimValue
  created: number
  changed: number
  /** The revision of its arrival; what the queue is ordered by. */
  order: number
  /** The revision of the grant; 0 while it waits. */
  seq: number
  /** In the queue as it was last counted, which may be long ago. */
  position: number
  /** What its key is bound to. */
  lease: Lease
  /** What it will be bound to when its turn comes; counted among that lease's waiters. */
  nextLease: Lease | null
  /** The name of what would close the key, were the claim to expire. */
  shutName: string | null
  /** A live process ends its claims itself, and to the millisecond: the lease is for the dead. */
  endsAtMs: number
  /** A grant that nobody asked for ends early unless somebody takes it up. */
  offerEndsAtMs: number
  /** When the holders are told that others wait. */
  tellAtMs: number
  told: boolean
  stopWatch: (() => void) | null
  watched: string | null
  /** A look at the queue that is under way, and whether somebody asked for it: then its answer is no offer. */
  looking: Promise<Look> | null
  asked: boolean
  /** A hold that somebody has taken up, by an attempt or a renewal: it is no offer any more. */
  confirmed: boolean
}

/** The parts of a claim that do not depend on whether it holds or waits. */
export function localClaim(
  claim: Claim,
  entry: Pick<LocalClaim, 'state' | 'name' | 'value' | 'created' | 'changed' | 'order'>,
  lease: Lease,
  sentAtMs: number,
): LocalClaim {
  const { state, name, value, created, changed, order } = entry
  return {
    claim,
    state,
    name,
    value,
    created,
    changed,
    order,
    seq: 0,
    position: 0,
    lease,
    nextLease: null,
    shutName: null,
    endsAtMs: sentAtMs + claim.ttlMs,
    offerEndsAtMs: Number.POSITIVE_INFINITY,
    tellAtMs: Number.POSITIVE_INFINITY,
    told: false,
    stopWatch: null,
    watched: null,
    looking: null,
    asked: false,
    confirmed: false,
  }
}

/** `expired`: its time is up, and it is no local claim any more. `contended`: the holders should know that it waits. */
export type Due = (local: LocalClaim, what: 'expired' | 'contended') => void

/** An alarm this close to the last one is rung with it. */
const GRAIN_MS = 5

/** The claims of this store, and one timer for all that time does to them. */
export class LocalClaims {
  private readonly runtime: Runtime
  private readonly due: Due
  private readonly byId = new Map<string, LocalClaim>()
  /** Claims whose end is on its way to etcd: nothing can be done with them any more. */
  readonly dying = new Map<string, Promise<void>>()
  private timer: Timer | null = null
  private armedForMs = Number.POSITIVE_INFINITY

  constructor(runtime: Runtime, due: Due) {
    this.runtime = runtime
    this.due = due
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

  /** Looks at the claim's alarms again, which may have come nearer. */
  watch(local: LocalClaim): void {
    const atMs = nextAlarmMs(local)
    if (atMs < this.armedForMs) this.arm(atMs)
  }

  /** Forgets the claim; false when another has taken its place. */
  drop(local: LocalClaim): boolean {
    if (!this.has(local)) return false
    this.byId.delete(local.claim.id)
    this.settle(local)
    return true
  }

  /** Nothing is waited for any more. */
  settle(local: LocalClaim): void {
    local.stopWatch?.()
    local.stopWatch = null
    local.watched = null
    if (local.nextLease !== null) local.nextLease.waiters--
    local.nextLease = null
    local.tellAtMs = Number.POSITIVE_INFINITY
  }

  has(local: LocalClaim): boolean {
    return this.byId.get(local.claim.id) === local
  }

  close(): void {
    this.timer?.clear()
    this.timer = null
    for (const local of this.byId.values()) local.stopWatch?.()
    this.byId.clear()
  }

  private arm(atMs: number): void {
    this.timer?.clear()
    this.armedForMs = atMs
    this.timer = this.runtime.setTimer(this.ring, Math.max(GRAIN_MS, atMs - this.runtime.nowMs()), true)
  }

  private readonly ring = (): void => {
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
    const nowMs = this.runtime.nowMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const local of this.byId.values()) {
      if (nowMs >= Math.min(local.endsAtMs, local.offerEndsAtMs)) {
        this.drop(local)
        this.due(local, 'expired')
        continue
      }
      if (nowMs >= local.tellAtMs) {
        local.tellAtMs = Number.POSITIVE_INFINITY
        this.due(local, 'contended')
      }
      nextMs = Math.min(nextMs, nextAlarmMs(local))
    }
    if (nextMs < this.armedForMs) this.arm(nextMs)
  }
}

function nextAlarmMs({ endsAtMs, offerEndsAtMs, tellAtMs }: LocalClaim): number {
  return Math.min(endsAtMs, offerEndsAtMs, tellAtMs)
}

import type { Runtime, Timer } from '../../core/runtime.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { Lease } from './leases.ts'
import type { Entry } from './line.ts'
import type { ClaimValue } from './value.ts'

/** What a look at the line gave; `gone` when the claim is not in etcd any more. */
export type Look = ClaimAnswer | { readonly kind: 'gone' }

/** A claim that this store has in etcd, as far as it knows. */
export interface Known {
  claim: Claim
  state: 'waiting' | 'held'
  name: string
  value: ClaimValue
  created: number
  changed: number
  /** The revision of the grant; 0 while it waits. */
  seq: number
  /** What its key is bound to. */
  lease: Lease
  /** What it will be bound to when its turn comes; counted among that lease's waiters. */
  nextLease: Lease | null
  /** The name of what would close the key, were the claim to expire. */
  delayName: string | null
  /** A live process ends its claims itself, and to the millisecond: the lease is for the dead. */
  endsAtMs: number
  /** A grant that nobody asked for ends early unless somebody takes it up. */
  offerEndsAtMs: number
  /** When the holder before us is told that we wait. */
  tellAtMs: number
  holder: Entry | null
  stopWatch: (() => void) | null
  watched: string | null
  /** A look at the line that is under way, and whether somebody asked for it: then its answer is no offer. */
  looking: Promise<Look> | null
  asked: boolean
}

/** The parts of a claim that do not depend on whether it holds or waits. */
export function knownOf(
  claim: Claim,
  entry: Pick<Known, 'name' | 'value' | 'created' | 'changed'>,
  lease: Lease,
  sentAtMs: number,
): Known {
  const { name, value, created, changed } = entry
  return {
    claim,
    state: 'waiting',
    name,
    value,
    created,
    changed,
    seq: 0,
    lease,
    nextLease: null,
    delayName: null,
    endsAtMs: sentAtMs + claim.ttlMs,
    offerEndsAtMs: Number.POSITIVE_INFINITY,
    tellAtMs: Number.POSITIVE_INFINITY,
    holder: null,
    stopWatch: null,
    watched: null,
    looking: null,
    asked: false,
  }
}

export interface BookKeeper {
  /** The claim's time is up. It is out of the book already. */
  expire(known: Known): void
  /** The one before us should know that we wait. */
  tellHolder(known: Known): void
}

/** An alarm this close to the last one is rung with it. */
const GRAIN_MS = 5

/** The claims of this store, and one timer for all that time does to them. */
export class Book {
  private readonly runtime: Runtime
  private readonly known = new Map<string, Known>()
  /** Claims whose end is on its way to etcd: nothing can be done with them any more. */
  readonly dying = new Map<string, Promise<void>>()
  private keeper: BookKeeper | null = null
  private timer: Timer | null = null
  private armedForMs = Number.POSITIVE_INFINITY

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  keptBy(keeper: BookKeeper): void {
    this.keeper = keeper
  }

  get({ key, id }: Pick<Claim, 'key' | 'id'>): Known | undefined {
    const known = this.known.get(id)
    return known?.claim.key === key ? known : undefined
  }

  add(known: Known): void {
    this.known.set(known.claim.id, known)
    if (known.nextLease !== null) known.nextLease.waiters++
    this.watch(known)
  }

  /** Looks at the claim's alarms again, which may have come nearer. */
  watch(known: Known): void {
    const atMs = nextAlarmMs(known)
    if (atMs < this.armedForMs) this.arm(atMs)
  }

  /** Forgets the claim; false when another has taken its place. */
  drop(known: Known): boolean {
    if (this.known.get(known.claim.id) !== known) return false
    this.known.delete(known.claim.id)
    this.settle(known)
    return true
  }

  /** Nothing is waited for any more. */
  settle(known: Known): void {
    known.stopWatch?.()
    known.stopWatch = null
    known.watched = null
    if (known.nextLease !== null) known.nextLease.waiters--
    known.nextLease = null
    known.holder = null
    known.tellAtMs = Number.POSITIVE_INFINITY
  }

  has(known: Known): boolean {
    return this.known.get(known.claim.id) === known
  }

  close(): void {
    this.timer?.clear()
    this.timer = null
    for (const known of this.known.values()) known.stopWatch?.()
    this.known.clear()
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
    for (const known of this.known.values()) {
      if (nowMs >= Math.min(known.endsAtMs, known.offerEndsAtMs)) {
        this.drop(known)
        this.keeper?.expire(known)
        continue
      }
      if (nowMs >= known.tellAtMs) {
        known.tellAtMs = Number.POSITIVE_INFINITY
        this.keeper?.tellHolder(known)
      }
      nextMs = Math.min(nextMs, nextAlarmMs(known))
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.arm(nextMs)
  }
}

function nextAlarmMs({ endsAtMs, offerEndsAtMs, tellAtMs }: Known): number {
  return Math.min(endsAtMs, offerEndsAtMs, tellAtMs)
}

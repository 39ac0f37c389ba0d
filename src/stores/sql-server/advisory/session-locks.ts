import type { Runtime } from '../../../core/runtime.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../../../model/index.ts'
import { type Blocked, type Granted, type Refused, refused, SPARE_TOKENS } from '../../../model/index.ts'

import type { LockOperation } from './session-server.ts'

/** The operations that an answer needs, and the answer to their results. */
export interface LockPlan<A> {
  readonly operations: readonly LockOperation[]
  /** False when this process knows the answer. A promise of time needs a session that has just answered. */
  readonly asks: boolean
  /** True if nothing else may be planned for the same lock before this is settled. */
  readonly alone: boolean
  /** How long the promised hold must live. */
  readonly ttlMs: number
  settle(done: readonly boolean[]): A
}

const SHORTEST_POLL_MS = 4
const LONGEST_POLL_MS = 50
/** A waiter polls again after this share of the time that it has waited. */
const SHARE_OF_WAIT = 1 / 8

/** The locks of the session and the claims of this process that hold them. */
export class SessionLocks {
  readonly locks = new Map<string, SessionLock>()
  private readonly runtime: Runtime
  /** Called when a lock may have become free for other claims of this process. */
  private readonly freed: (lock: SessionLock) => void

  constructor(runtime: Runtime, freed: (lock: SessionLock) => void) {
    this.runtime = runtime
    this.freed = freed
  }

  attempt(name: string, claim: Claim): LockPlan<ClaimAnswer> {
    const refusal = refusalOf(claim)
    if (refusal !== null) return answered(refusal)
    const lock = this.locks.get(name) ?? new SessionLock(name)
    const own = lock.holderOf(claim)
    if (own !== undefined) return this.again(lock, own, claim)
    if (claim.replaces !== null) return answered(refused('absent', 'the lock is no longer held'))
    const { first } = lock
    const shared = claim.mode.kind === 'shared'
    if (first !== undefined && !(shared && lock.shared)) {
      const holder = { label: first.claim.label, heldMs: this.runtime.nowMs() - first.sinceMs }
      return answered({ ...this.block(lock, claim), holder })
    }
    const operations: LockOperation[] = first === undefined ? [{ kind: 'lock', shared, name }] : []
    return this.asking(operations, true, claim.ttlMs, (done, sentAtMs) => {
      if (done[0] === false) return this.block(lock, claim)
      lock.waiters.delete(claim.id)
      lock.holders.set(claim.id, { claim, sinceMs: sentAtMs, expiresAtMs: sentAtMs + claim.ttlMs })
      this.locks.set(name, lock)
      return GRANTED
    })
  }

  renew(name: string, claim: Claim): LockPlan<RenewAnswer> {
    const holder = this.locks.get(name)?.holderOf(claim)
    if (holder === undefined || holder.expiresAtMs <= this.runtime.nowMs()) return answered({ kind: 'lost' })
    return this.asking([], false, claim.ttlMs, (_, sentAtMs) => {
      prolong(holder, sentAtMs + claim.ttlMs)
      return { kind: 'renewed', contended: false }
    })
  }

  release(name: string, claim: Claim): LockPlan<ReleaseAnswer> {
    const lock = this.locks.get(name)
    lock?.waiters.delete(claim.id)
    const holder = lock?.holderOf(claim)
    if (lock === undefined || holder === undefined) {
      if (lock !== undefined) this.tidy(lock)
      return answered({ kind: 'absent' })
    }
    const expired = holder.expiresAtMs <= this.runtime.nowMs()
    const answer: ReleaseAnswer = { kind: expired ? 'absent' : 'released' }
    if (lock.holders.size > 1) {
      lock.holders.delete(claim.id)
      return answered(answer)
    }
    return this.asking([{ kind: 'unlock', shared: lock.shared, name }], true, 0, () => {
      lock.holders.delete(claim.id)
      this.freed(lock)
      this.tidy(lock)
      return answer
    })
  }

  /** Forgets every hold, because the session has ended; waiters stay. */
  lose(): readonly Holder[] {
    const lost: Holder[] = []
    for (const lock of this.locks.values()) {
      lost.push(...lock.holders.values())
      lock.holders.clear()
      this.tidy(lock)
    }
    return lost
  }

  *holders(): Iterable<Holder> {
    for (const lock of this.locks.values()) yield* lock.holders.values()
  }

  /** The latest end of a hold; zero when there are none. */
  heldUntilMs(): number {
    let untilMs = 0
    for (const { expiresAtMs } of this.holders()) untilMs = Math.max(untilMs, expiresAtMs)
    return untilMs
  }

  /** A claim that already holds the lock: its ttl starts again, and a writer may become a reader. */
  private again(lock: SessionLock, own: Holder, claim: Claim): LockPlan<ClaimAnswer> {
    const { name } = lock
    const shared = claim.mode.kind === 'shared'
    if (lock.shared && !shared) return answered(refused('upgrade', 'a reader cannot become a writer'))
    const downgrade: LockOperation[] = [
      { kind: 'lock', shared: true, name },
      { kind: 'unlock', shared: false, name },
    ]
    const change = shared && !lock.shared
    return this.asking(change ? downgrade : [], change, claim.ttlMs, (_, sentAtMs) => {
      own.claim = claim
      prolong(own, sentAtMs + claim.ttlMs)
      if (change) this.freed(lock)
      return GRANTED
    })
  }

  private block(lock: SessionLock, { id, key, queue }: Claim) {
    if (!queue) return BLOCKED
    const nowMs = this.runtime.nowMs()
    const waiter = lock.waiters.get(id) ?? { key, sinceMs: nowMs }
    lock.waiters.set(id, waiter)
    this.locks.set(lock.name, lock)
    const pauseMs = Math.max(SHORTEST_POLL_MS, (nowMs - waiter.sinceMs) * SHARE_OF_WAIT)
    return {
      ...BLOCKED,
      retryAfterMs: Math.min(pauseMs, LONGEST_POLL_MS) * (0.5 + this.runtime.random()),
    }
  }

  private asking<A>(
    operations: readonly LockOperation[],
    alone: boolean,
    ttlMs: number,
    settle: (done: readonly boolean[], sentAtMs: number) => A,
  ): LockPlan<A> {
    const sentAtMs = this.runtime.nowMs()
    return { operations, asks: true, alone, ttlMs, settle: (done) => settle(done, sentAtMs) }
  }

  private tidy(lock: SessionLock): void {
    if (lock.empty && this.locks.get(lock.name) === lock) this.locks.delete(lock.name)
  }
}

function prolong(holder: Holder, expiresAtMs: number): void {
  holder.expiresAtMs = Math.max(holder.expiresAtMs, expiresAtMs)
}

export interface Holder {
  claim: Claim
  readonly sinceMs: number
  expiresAtMs: number
}

/** A claim that was blocked and will retry. */
export interface SessionWaiter {
  readonly key: string
  readonly sinceMs: number
}

/**
 * One lock of the session and the claims of this process on it. The server grants a lock to its own session any number of times, so this
 * class decides which claims may hold it together: the session holds it once, while there are holders.
 */
export class SessionLock {
  readonly name: string
  readonly holders = new Map<string, Holder>()
  readonly waiters = new Map<string, SessionWaiter>()

  constructor(name: string) {
    this.name = name
  }

  get first(): Holder | undefined {
    return this.holders.values().next().value
  }

  get shared(): boolean {
    return this.first?.claim.mode.kind === 'shared'
  }

  get empty(): boolean {
    return this.holders.size === 0 && this.waiters.size === 0
  }

  /** The hold of a claim. Another key that happens to have the same name does not count. */
  holderOf({ id, key }: Claim): Holder | undefined {
    const holder = this.holders.get(id)
    return holder?.claim.key === key ? holder : undefined
  }
}

/** There are no tokens, and contention is unknown, so handovers have the bound that tokens have elsewhere. */
const GRANTED: Granted = { kind: 'granted', token: null, spare: SPARE_TOKENS, contended: false }

/** The server has no queue that a claim could join without blocking its session. */
const BLOCKED: Blocked = {
  kind: 'blocked',
  position: 0,
  retryAfterMs: null,
  storeTimeMs: 0,
  holder: null,
}

function answered<A>(answer: A): LockPlan<A> {
  return { operations: [], asks: false, alone: false, ttlMs: 0, settle: () => answer }
}

/** Why a claim cannot be made on a session lock; null when it can. */
function refusalOf({ id, mode, owner, lockDelayMs, group, replaces }: Claim): Refused | null {
  if (mode.kind === 'permits') return refused('mode', 'a session lock has no permits')
  if (owner !== null) return refused('mode', 'a session lock has no named owners')
  if (replaces !== null && replaces !== id) return refused('mode', 'a session lock cannot change its process')
  if (group !== null) return refused('group', 'session locks are granted one by one')
  return lockDelayMs > 0 ? refused('mode', 'a session lock cannot be kept closed after an expiry') : null
}

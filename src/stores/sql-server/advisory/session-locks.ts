import type { Runtime } from '../../../core/runtime.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../../../model/index.ts'
import { answered, BLOCKED, GRANTED, refusalOf, refused } from './answers.ts'
import { type Holder, SessionLock } from './gate.ts'
import type { LockOperation } from './session-server.ts'

/** What has to be asked of the server for an answer, and the answer that follows. */
export interface LockPlan<A> {
  readonly steps: readonly LockOperation[]
  /** False when this process knows the answer. What promises time needs a session that has just answered. */
  readonly asks: boolean
  /** Nothing else may be planned for the same lock before this is settled. */
  readonly alone: boolean
  /** How long what is promised must live. */
  readonly ttlMs: number
  settle(done: readonly boolean[]): A
}

const SHORTEST_LOOK_MS = 4
const LONGEST_LOOK_MS = 50
/** Whoever has waited long looks less often: again after this part of the time. */
const PATIENCE = 1 / 8

/** Which claims of this process hold which locks of its session. */
export class SessionLocks {
  readonly locks = new Map<string, SessionLock>()
  private readonly runtime: Runtime
  /** Told when a lock of that name may have become free for others of this process. */
  private readonly freed: (gate: SessionLock) => void

  constructor(runtime: Runtime, freed: (gate: SessionLock) => void) {
    this.runtime = runtime
    this.freed = freed
  }

  attempt(name: string, claim: Claim): LockPlan<ClaimAnswer> {
    const refusal = refusalOf(claim)
    if (refusal !== null) return answered(refusal)
    const gate = this.locks.get(name) ?? new SessionLock(name)
    const own = gate.holderOf(claim)
    if (own !== undefined) return this.again(gate, own, claim)
    if (claim.replaces !== null) return answered(refused('absent', 'the lock is no longer held'))
    const { first } = gate
    const shared = claim.mode.kind === 'shared'
    if (first !== undefined && !(shared && gate.shared)) {
      const holder = { label: first.claim.label, heldMs: this.runtime.nowMs() - first.sinceMs }
      return answered({ ...this.block(gate, claim), holder })
    }
    const steps: LockOperation[] = first === undefined ? [{ kind: 'lock', shared, name }] : []
    return this.asking(steps, true, claim.ttlMs, (done, sentAtMs) => {
      if (done[0] === false) return this.block(gate, claim)
      gate.waiters.delete(claim.id)
      gate.holders.set(claim.id, { claim, sinceMs: sentAtMs, expiresAtMs: sentAtMs + claim.ttlMs })
      this.locks.set(name, gate)
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
    const gate = this.locks.get(name)
    gate?.waiters.delete(claim.id)
    const holder = gate?.holderOf(claim)
    if (gate === undefined || holder === undefined) {
      if (gate !== undefined) this.tidy(gate)
      return answered({ kind: 'absent' })
    }
    const expired = holder.expiresAtMs <= this.runtime.nowMs()
    const answer: ReleaseAnswer = { kind: expired ? 'absent' : 'released' }
    if (gate.holders.size > 1) {
      gate.holders.delete(claim.id)
      return answered(answer)
    }
    return this.asking([{ kind: 'unlock', shared: gate.shared, name }], true, 0, () => {
      gate.holders.delete(claim.id)
      this.freed(gate)
      this.tidy(gate)
      return answer
    })
  }

  /** Forgets every hold, because the session is gone; those who wait stay. */
  lose(): readonly Holder[] {
    const lost: Holder[] = []
    for (const gate of this.locks.values()) {
      lost.push(...gate.holders.values())
      gate.holders.clear()
      this.tidy(gate)
    }
    return lost
  }

  *holders(): Iterable<Holder> {
    for (const gate of this.locks.values()) yield* gate.holders.values()
  }

  /** When the last of the holds ends that there are; zero when there are none. */
  heldUntilMs(): number {
    let untilMs = 0
    for (const { expiresAtMs } of this.holders()) untilMs = Math.max(untilMs, expiresAtMs)
    return untilMs
  }

  /** A claim that holds already: its time begins anew, and a writer may become a reader. */
  private again(gate: SessionLock, own: Holder, claim: Claim): LockPlan<ClaimAnswer> {
    const { name } = gate
    const shared = claim.mode.kind === 'shared'
    if (gate.shared && !shared) return answered(refused('upgrade', 'a reader cannot become a writer'))
    const downgrade: LockOperation[] = [
      { kind: 'lock', shared: true, name },
      { kind: 'unlock', shared: false, name },
    ]
    const change = shared && !gate.shared
    return this.asking(change ? downgrade : [], change, claim.ttlMs, (_, sentAtMs) => {
      own.claim = claim
      prolong(own, sentAtMs + claim.ttlMs)
      if (change) this.freed(gate)
      return GRANTED
    })
  }

  private block(gate: SessionLock, { id, key, queue }: Claim) {
    if (!queue) return BLOCKED
    const nowMs = this.runtime.nowMs()
    const waiter = gate.waiters.get(id) ?? { key, sinceMs: nowMs }
    gate.waiters.set(id, waiter)
    this.locks.set(gate.name, gate)
    const pauseMs = Math.max(SHORTEST_LOOK_MS, (nowMs - waiter.sinceMs) * PATIENCE)
    return {
      ...BLOCKED,
      retryAfterMs: Math.min(pauseMs, LONGEST_LOOK_MS) * (0.5 + this.runtime.random()),
    }
  }

  private asking<A>(
    steps: readonly LockOperation[],
    alone: boolean,
    ttlMs: number,
    settle: (done: readonly boolean[], sentAtMs: number) => A,
  ): LockPlan<A> {
    const sentAtMs = this.runtime.nowMs()
    return { steps, asks: true, alone, ttlMs, settle: (done) => settle(done, sentAtMs) }
  }

  private tidy(gate: SessionLock): void {
    if (gate.empty && this.locks.get(gate.name) === gate) this.locks.delete(gate.name)
  }
}

function prolong(holder: Holder, expiresAtMs: number): void {
  holder.expiresAtMs = Math.max(holder.expiresAtMs, expiresAtMs)
}

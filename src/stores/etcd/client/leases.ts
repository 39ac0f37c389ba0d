import type { Runtime, Timer } from '../../../core/runtime.ts'
import { SleepWatch } from '../../../core/runtime.ts'
import type { Soon } from '../../../core/store.ts'
import { StoreError } from '../../../errors.ts'
import { LOCKS } from '../names.ts'
import type { EtcdClient } from './client.ts'

/** etcd counts in seconds. The spare second lets a recently renewed lease serve a new claim without a keep-alive. */
const STEP_MS = 1000
const SPARE_MS = 1000
/** An unused lease ends after this time. */
const LINGER_MS = 30_000
const TICK_MS = 500
/** The most attempts to prove a keep-alive by the leader's term. */
const PROOFS = 3

/** A lease in etcd, shared by the claims of this store with the same time to live. */
export class EtcdLease {
  readonly id: bigint
  /** The requested time to live; the server may grant more. */
  readonly seconds: number
  /** The granted time to live. */
  ttlMs: number
  /** On the clock of `EtcdLeases`, counted from before the request: the server keeps the lease at least that long. */
  aliveUntilMs: number
  usedAtMs: number
  /** The number of waiters that need this lease when they are granted. */
  waiters = 0
  /** No more keep-alives: a late transaction may bind a key to this lease, which must then end. */
  retired = false
  /** Leases that outlive this one by a lock delay; each keep-alive of this lease renews them too. */
  readonly followers = new Map<number, EtcdLease>()
  /** The requested followers, granted or not. */
  readonly promised = new Map<number, Promise<EtcdLease>>()
  keeping: Promise<void> | null = null

  constructor(id: bigint, seconds: number, ttlMs: number, sentAtMs: number) {
    this.id = id
    this.seconds = seconds
    this.ttlMs = ttlMs
    this.aliveUntilMs = sentAtMs + ttlMs
    this.usedAtMs = sentAtMs
  }
}

/** The leases of one store: one for each time to live in use, all kept alive on one stream. */
export class EtcdLeases {
  private readonly client: EtcdClient
  private readonly runtime: Runtime
  private readonly current = new Map<number, Promise<EtcdLease>>()
  /** Every lease that may still be alive. */
  private readonly all = new Set<EtcdLease>()
  /** Leases whose grant was not answered, each with the time at which it is over in any case. */
  private readonly doubtful = new Map<bigint, number>()
  private timer: Timer | null = null
  private readonly sleep: SleepWatch
  private sleptMs = 0

  constructor(client: EtcdClient, runtime: Runtime) {
    this.client = client
    this.runtime = runtime
    this.sleep = new SleepWatch(runtime)
  }

  /** A lease for claims of `ttlMs`; `extend` makes it last that long. */
  async forTtl(ttlMs: number): Promise<EtcdLease> {
    const seconds = secondsOf(ttlMs)
    for (;;) {
      const promised = this.current.get(seconds) ?? this.grant(seconds)
      const lease = await promised
      const nowMs = this.nowMs()
      if (!lease.retired && nowMs < lease.aliveUntilMs) {
        lease.usedAtMs = nowMs
        return lease
      }
      this.retire(lease)
      if (this.current.get(seconds) === promised) this.current.delete(seconds)
    }
  }

  /** The lease for `ttlMs` if there is one with at least half of that left. */
  existing(ttlMs: number): EtcdLease | null {
    const nowMs = this.nowMs()
    for (const lease of this.all) {
      if (lease.retired || lease.seconds !== secondsOf(ttlMs)) continue
      if (lease.aliveUntilMs < nowMs + ttlMs / 2) continue
      lease.usedAtMs = nowMs
      return lease
    }
    return null
  }

  /** The lease of that id. A lease of another connection counts as retired: this store does not keep it alive. */
  byId(id: bigint): EtcdLease {
    for (const lease of this.all) if (lease.id === id) return lease
    const lost = new EtcdLease(id, 0, 0, Number.NEGATIVE_INFINITY)
    lost.retired = true
    return lost
  }

  /** Requests the lease for `ttlMs` in the background if there is none. */
  prepare(ttlMs: number): void {
    this.forTtl(ttlMs).catch(ignore)
  }

  /** True if a claim of `ttlMs` can rely on the lease from now on. */
  covers(lease: EtcdLease, ttlMs: number): boolean {
    return !lease.retired && lease.ttlMs >= ttlMs && this.nowMs() < lease.aliveUntilMs
  }

  /** True if etcd keeps the lease that long even without another keep-alive. */
  lasts(lease: EtcdLease, forMs: number): boolean {
    return lease.aliveUntilMs >= this.nowMs() + forMs
  }

  touch(lease: EtcdLease): void {
    lease.usedAtMs = this.nowMs()
  }

  /** A lease that ends at least `delayMs` after `lease` if both get no more keep-alives. */
  async follower(lease: EtcdLease, delayMs: number): Promise<EtcdLease> {
    const seconds = Math.ceil((lease.ttlMs + delayMs) / STEP_MS)
    const known = lease.promised.get(seconds)
    if (known !== undefined) return known
    const promised = this.follow(lease, seconds)
    lease.promised.set(seconds, promised)
    promised.catch(() => lease.promised.delete(seconds))
    return promised
  }

  /** Makes the lease last for `ttlMs` from now. Rejects when the outcome is unknown. */
  extend(lease: EtcdLease, ttlMs: number): Soon<void> {
    const nowMs = this.nowMs()
    lease.usedAtMs = nowMs
    if (lease.aliveUntilMs >= nowMs + ttlMs) return
    return this.extendTo(lease, nowMs + ttlMs)
  }

  /** A late transaction may still bind a key to this lease. Its holds move to another lease when they are renewed. */
  retire(lease: EtcdLease): void {
    lease.retired = true
    for (const [seconds, promised] of this.current) {
      void promised.then((current) => {
        if (current === lease && this.current.get(seconds) === promised) this.current.delete(seconds)
      }, ignore)
    }
  }

  /** Ends every lease, and so every claim of this store. With `delaying`, the followers stay until their lock delay is over. */
  async close(delaying: boolean): Promise<void> {
    this.timer?.clear()
    this.timer = null
    const open = [...this.all].flatMap((lease) => (delaying ? [lease] : [lease, ...lease.followers.values()]))
    const ids = [...open.map(({ id }) => id), ...this.doubtful.keys()]
    this.all.clear()
    this.current.clear()
    this.doubtful.clear()
    await Promise.allSettled(ids.map((id) => this.client.revoke(id)))
  }

  /** The monotonic clock plus the time that the machine slept, because etcd's clock runs on during a sleep. */
  private nowMs(): number {
    this.sleptMs += this.sleep.look()
    return this.runtime.nowMs() + this.sleptMs
  }

  private grant(seconds: number): Promise<EtcdLease> {
    const promised = this.ask(seconds)
    this.current.set(seconds, promised)
    promised.then(
      (lease) => {
        this.all.add(lease)
        this.arm()
      },
      () => {
        if (this.current.get(seconds) === promised) this.current.delete(seconds)
      },
    )
    return promised
  }

  private async follow(lease: EtcdLease, seconds: number): Promise<EtcdLease> {
    const follower = await this.ask(seconds)
    lease.followers.set(seconds, follower)
    // A keep-alive in flight did not include the follower, so the lease may outlast it.
    await lease.keeping?.catch(ignore)
    await this.extendTo(lease, lease.aliveUntilMs + 1)
    return follower
  }

  private async ask(seconds: number): Promise<EtcdLease> {
    const sentAtMs = this.nowMs()
    const id = newLeaseId(this.runtime)
    try {
      const { ttlSeconds } = await this.client.grant(seconds, id)
      return new EtcdLease(id, seconds, ttlSeconds * STEP_MS, sentAtMs)
    } catch (error) {
      this.doubt(id, seconds)
      throw error
    }
  }

  /** The answer to a grant was lost, so the lease may exist. */
  private doubt(id: bigint, seconds: number): void {
    const nowMs = this.nowMs()
    for (const [each, untilMs] of this.doubtful) if (nowMs >= untilMs) this.doubtful.delete(each)
    // The request may have arrived some time after it was given up.
    this.doubtful.set(id, nowMs + 2 * seconds * STEP_MS)
    this.client.revoke(id).then(() => this.doubtful.delete(id), ignore)
  }

  private async extendTo(lease: EtcdLease, untilMs: number): Promise<void> {
    while (lease.aliveUntilMs < untilMs) {
      if (lease.retired || untilMs > this.nowMs() + lease.ttlMs) throw new StoreError('the lease is over')
      // A keep-alive in flight may suffice.
      lease.keeping ??= this.keep(lease).finally(() => {
        lease.keeping = null
      })
      await lease.keeping
    }
  }

  private async keep(lease: EtcdLease): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (lease.retired) throw new StoreError('the lease is over')
      const sentAtMs = this.nowMs()
      const all = [lease, ...lease.followers.values()]
      // A linearizable read: an answer by a deposed leader has an older term than this read.
      const kept = all.map(({ id }) => this.client.keepAlive(id))
      const [proof, ...answers] = await Promise.all([
        this.client.range({ key: LOCKS.key, countOnly: true }),
        ...kept,
      ])
      if (answers.some(({ ttlSeconds }) => ttlSeconds < 1)) {
        this.retire(lease)
        throw new StoreError('etcd ended the lease before it was kept alive')
      }
      if (answers.every(({ header }) => header.term === proof.header.term)) {
        for (const [index, { ttlSeconds }] of answers.entries()) {
          const each = all[index] as EtcdLease
          each.ttlMs = ttlSeconds * STEP_MS
          each.aliveUntilMs = Math.max(each.aliveUntilMs, sentAtMs + each.ttlMs)
        }
        return
      }
      if (tries === PROOFS)
        throw new StoreError('etcd changes its leader: whether the lease lives on is unknown')
    }
  }

  private arm(): void {
    if (this.timer !== null) return
    this.timer = this.runtime.setTimer(() => this.tick(), TICK_MS, true)
  }

  /** Keeps alive the leases that may be needed soon; renewals of holds keep theirs alive. */
  private tick(): void {
    this.timer = null
    const nowMs = this.nowMs()
    for (const lease of this.all) {
      if (nowMs >= lease.aliveUntilMs) {
        this.retire(lease)
        this.all.delete(lease)
        continue
      }
      const wanted = lease.waiters > 0 || nowMs - lease.usedAtMs < LINGER_MS
      const due = lease.aliveUntilMs - nowMs < (lease.ttlMs * 2) / 3
      if (wanted && due && !lease.retired && lease.keeping === null)
        this.extendTo(lease, lease.aliveUntilMs + 1).catch(ignore)
    }
    if (this.all.size > 0) this.arm()
  }
}

/** 62 random bits: etcd takes any number above zero, and refuses an id in use. */
export function newLeaseId(runtime: Runtime): bigint {
  const [high, low] = [2 ** 30, 2 ** 32].map((size) => BigInt(Math.floor(runtime.random() * size)))
  return ((high as bigint) << 32n) + (low as bigint) + 1n
}

function secondsOf(ttlMs: number): number {
  return Math.ceil((ttlMs + SPARE_MS) / STEP_MS)
}

/** The next use of the lease reports the failure. */
function ignore(): void {}

import type { Runtime, Timer } from '../../core/runtime.ts'
import { SleepWatch } from '../../core/runtime.ts'
import type { Soon } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { EtcdClient } from './client/client.ts'
import { LOCKS } from './names.ts'

/** etcd counts in seconds. The spare one lets a lease that was kept alive a moment ago serve a new claim as it is. */
const STEP_MS = 1000
const SPARE_MS = 1000
/** A lease that nobody has used for that long is left to end. */
const LINGER_MS = 30_000
const LOOK_MS = 500
/** A keep-alive whose truth is in doubt is asked for again so often. */
const PROOFS = 3

/** A lease of this store, shared by its claims of the same time to live. */
export class Lease {
  readonly id: bigint
  /** What was asked for; the server may grant more. */
  readonly seconds: number
  /** What the server said that it grants. */
  ttlMs: number
  /** On the clock of `Leases`, counted from before the request was sent: the server keeps it at least that long. */
  aliveUntilMs: number
  usedAtMs: number
  /** How many claims wait, and need it when their turn comes. */
  waiters = 0
  /** It is kept alive no more: something may arrive late that is bound to it, and must find it gone. */
  retired = false
  /** Leases that outlive this one by a lock delay: kept alive with it, and after it. */
  readonly followers = new Map<number, Lease>()
  /** Followers that etcd was asked for. */
  readonly asked = new Map<number, Promise<Lease>>()
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
export class Leases {
  private readonly client: EtcdClient
  private readonly runtime: Runtime
  private readonly current = new Map<number, Promise<Lease>>()
  /** Every lease that may still be alive. */
  private readonly all = new Set<Lease>()
  /** Leases that may have been granted without our knowing, and when they are over in any case. */
  private readonly doubtful = new Map<bigint, number>()
  private timer: Timer | null = null
  private readonly sleep: SleepWatch
  private sleptMs = 0

  constructor(client: EtcdClient, runtime: Runtime) {
    this.client = client
    this.runtime = runtime
    this.sleep = new SleepWatch(runtime)
  }

  /** A lease that lasts for `ttlMs` from now, or will when `fresh` has said so. */
  async forTtl(ttlMs: number): Promise<Lease> {
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

  /** The lease for `ttlMs` if there is one that lasts for a while; null otherwise. */
  atHand(ttlMs: number): Lease | null {
    const nowMs = this.nowMs()
    for (const lease of this.all) {
      if (lease.retired || lease.seconds !== secondsOf(ttlMs)) continue
      if (lease.aliveUntilMs < nowMs + ttlMs / 2) continue
      lease.usedAtMs = nowMs
      return lease
    }
    return null
  }

  /** The lease that a key is bound to. One that is not ours, or is forgotten, is not kept alive: nothing can rely on it. */
  bound(id: bigint): Lease {
    for (const lease of this.all) if (lease.id === id) return lease
    const lost = new Lease(id, 0, 0, Number.NEGATIVE_INFINITY)
    lost.retired = true
    return lost
  }

  /** Makes the lease for `ttlMs` if there is none; nobody waits for it. */
  prepare(ttlMs: number): void {
    this.forTtl(ttlMs).catch(ignore)
  }

  /** True if a claim of `ttlMs` can rely on it from now on. */
  suits(lease: Lease, ttlMs: number): boolean {
    return !lease.retired && lease.ttlMs >= ttlMs && this.nowMs() < lease.aliveUntilMs
  }

  /** True if etcd keeps it for that long from now, whether it is kept alive meanwhile or not. */
  lasts(lease: Lease, forMs: number): boolean {
    return lease.aliveUntilMs >= this.nowMs() + forMs
  }

  use(lease: Lease): void {
    lease.usedAtMs = this.nowMs()
  }

  /** A lease that ends at least `delayMs` after `lease` does, if both are left alone. */
  async following(lease: Lease, delayMs: number): Promise<Lease> {
    const seconds = Math.ceil((lease.ttlMs + delayMs) / STEP_MS)
    const known = lease.asked.get(seconds)
    if (known !== undefined) return known
    const promised = this.follow(lease, seconds)
    lease.asked.set(seconds, promised)
    promised.catch(() => lease.asked.delete(seconds))
    return promised
  }

  /** Makes sure that the lease lasts for `ttlMs` from now. Rejects when that is not known. */
  fresh(lease: Lease, ttlMs: number): Soon<void> {
    const nowMs = this.nowMs()
    lease.usedAtMs = nowMs
    if (lease.aliveUntilMs >= nowMs + ttlMs) return
    return this.freshBy(lease, nowMs + ttlMs)
  }

  /** What was sent with this lease may arrive late. Claims that hold by it move to another when they are renewed. */
  retire(lease: Lease): void {
    lease.retired = true
    for (const [seconds, promised] of this.current) {
      void promised.then((current) => {
        if (current === lease && this.current.get(seconds) === promised) this.current.delete(seconds)
      }, ignore)
    }
  }

  /** Ends every lease, and with them every claim of this store. What keeps keys closed for a while may stay until then. */
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

  /** The monotonic clock and the time that the machine slept: etcd's clock goes on in a sleep. */
  private nowMs(): number {
    this.sleptMs += this.sleep.look()
    return this.runtime.nowMs() + this.sleptMs
  }

  private grant(seconds: number): Promise<Lease> {
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

  private async follow(lease: Lease, seconds: number): Promise<Lease> {
    const follower = await this.ask(seconds)
    lease.followers.set(seconds, follower)
    // A keep-alive that was under way did not know of it, and may have made the lease outlast it.
    await lease.keeping?.catch(ignore)
    await this.freshBy(lease, lease.aliveUntilMs + 1)
    return follower
  }

  private async ask(seconds: number): Promise<Lease> {
    const sentAtMs = this.nowMs()
    const id = newLeaseId(this.runtime)
    try {
      const { ttlSeconds } = await this.client.grant(seconds, id)
      return new Lease(id, seconds, ttlSeconds * STEP_MS, sentAtMs)
    } catch (error) {
      this.doubt(id, seconds)
      throw error
    }
  }

  /** The answer was lost, perhaps with a lease that nobody would know of. */
  private doubt(id: bigint, seconds: number): void {
    const nowMs = this.nowMs()
    for (const [each, untilMs] of this.doubtful) if (nowMs >= untilMs) this.doubtful.delete(each)
    // It may have been under way for a while when it was given up.
    this.doubtful.set(id, nowMs + 2 * seconds * STEP_MS)
    this.client.revoke(id).then(() => this.doubtful.delete(id), ignore)
  }

  private async freshBy(lease: Lease, untilMs: number): Promise<void> {
    while (lease.aliveUntilMs < untilMs) {
      if (lease.retired || untilMs > this.nowMs() + lease.ttlMs) throw new StoreError('the lease is over')
      // One that is under way may have been sent early enough.
      lease.keeping ??= this.keep(lease).finally(() => {
        lease.keeping = null
      })
      await lease.keeping
    }
  }

  private async keep(lease: Lease): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (lease.retired) throw new StoreError('the lease is over')
      const sentAtMs = this.nowMs()
      const asked = [lease, ...lease.followers.values()]
      // Sent after the keep-alives, on another stream: what it proves is told by `proof`.
      const kept = asked.map(({ id }) => this.client.keepAlive(id))
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
          const each = asked[index] as Lease
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
    this.timer = this.runtime.setTimer(() => this.look(), LOOK_MS, true)
  }

  /** Keeps alive what may be needed soon; holders see to it themselves. */
  private look(): void {
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
        this.freshBy(lease, lease.aliveUntilMs + 1).catch(ignore)
    }
    if (this.all.size > 0) this.arm()
  }
}

/** 62 bits by chance: etcd takes any number above zero, and refuses one that is in use. */
export function newLeaseId(runtime: Runtime): bigint {
  const [high, low] = [2 ** 30, 2 ** 32].map((size) => BigInt(Math.floor(runtime.random() * size)))
  return ((high as bigint) << 32n) + (low as bigint) + 1n
}

function secondsOf(ttlMs: number): number {
  return Math.ceil((ttlMs + SPARE_MS) / STEP_MS)
}

/** Whoever needs the lease will find out. */
function ignore(): void {}

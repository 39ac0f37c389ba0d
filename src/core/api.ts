import type { KeyView } from '../model/index.ts'
import type { Duration } from './durations.ts'
import type { EventName, Listener, Meter } from './events.ts'
import type { TransactionHold } from './lease/within.ts'
import type { Runtime } from './runtime.ts'
import type { Records, Store, Traits } from './store.ts'

export type { Duration, TransactionHold }

/** How a claim waits: in the store's queue, or by polling. */
export type Retry = 'queue' | { readonly spin: Duration; readonly jitter?: number }

export interface LocksOptions {
  /** The store that keeps the claims; default: a memory store of its own. */
  store?: Store
  /** Default time to live of a lease: 10 s. */
  ttl?: Duration
  /** Default longest wait: 10 s; `Infinity` must be explicit. */
  wait?: Duration
  /** Put before every key in the store. */
  prefix?: string
  /** Shown to operators: `host:pid` by default. */
  label?: string
  /** Hands a held claim to the next waiter of this process without the store: default true. */
  handover?: boolean
  /** Refuse a store whose tokens are not ordered. */
  requireFencing?: boolean
  /** A key whose lease expired stays closed for so long, for resources that cannot check tokens. */
  lockDelay?: Duration
  /** Upper limit for any ttl: 24 h by default. */
  maxTtl?: Duration
  /** How long one call to the store may take before its outcome counts as unknown: 5 s by default. */
  callTimeout?: Duration
  /**
   * Detects deadlocks with other processes that do so too. `report` emits a `deadlock` event; `abort` also ends one wait of
   * each cycle with a `ConflictError`. It follows async contexts, which slows every promise of the process a little.
   */
  onDeadlock?: 'abort' | 'report'
  /** Release everything held when the process gets SIGTERM or SIGINT, before it ends by that signal. */
  releaseOnSignal?: boolean
  /**
   * Adds to one small record in the store how long this process holds keys, by pattern (`order:*`): every half
   * minute and when it closes. `doctor` compares with it. Default false.
   */
  habits?: boolean
  /** Time and chance; for tests and simulation. */
  runtime?: Runtime
}

export interface AcquireOptions {
  ttl?: Duration
  /** 0 is one attempt. */
  wait?: Duration
  /** Cancels the wait, not the lease. */
  signal?: AbortSignal
  /** Renews the lease while it is held: default true. */
  renew?: boolean
  /** Renewal stops when the lease has been held for so long. */
  maxHold?: Duration
  /** A named owner joins its own hold, also from another process. */
  owner?: string
  /** Re-entry by async context, inside `using`. */
  reentrant?: boolean
  /** The name of the actor behind several claims of this process; shown in the wait-for graph. */
  actor?: string
  retry?: Retry
  /** `using` waits for the release, or returns once it was sent. */
  release?: 'await' | 'background'
  /** Small JSON value shown to operators. */
  meta?: unknown
}

export interface PermitOptions extends AcquireOptions {
  /** How many permits the claim takes: default 1. */
  weight?: number
}

export type SemaphoreOptions = { limit: number } & PermitOptions
export type WithinOptions = Pick<AcquireOptions, 'wait' | 'signal'>
export type AdoptOptions = Pick<AcquireOptions, 'renew' | 'maxHold' | 'ttl' | 'meta' | 'actor' | 'signal'>
export interface ListOptions {
  /** Only keys that begin with it. */
  prefix?: string
}

/** A lease as text for another process; see `Locks.adopt`. */
export interface LeaseJson {
  readonly key: string
  readonly id: string
  readonly token: string | null
  readonly mode: 'exclusive' | 'shared' | 'permits'
  readonly limit?: number
  readonly weight?: number
  readonly owner?: string
  readonly ttlMs: number
}

/** A granted claim, valid until its own deadline on this process's monotonic clock. */
export interface Lease extends AsyncDisposable {
  readonly key: string
  /** Proof of ownership: keep it secret. */
  readonly id: string
  /** The fencing token, null on a store without ordered tokens. */
  readonly token: bigint | null
  /** Fires once, with a `LeaseLostError` as its reason, when the lease is lost; never after a release. */
  readonly signal: AbortSignal
  /** Compares the clock when asked: a blocked event loop runs no timers. */
  readonly held: boolean
  /** Wall-clock time of the grant. */
  readonly acquiredAt: Date
  readonly waitedMs: number
  /** Milliseconds until the lease ends unless it is renewed; 0 when it is over. */
  remainingMs(): number
  /** Renews now, with a new time to live. Throws `LeaseLostError`, or `StoreError` when the outcome is unknown. */
  extend(ttl: Duration): Promise<void>
  /** Throws `StoreError` when the outcome is unknown; never throws because the lease is over. */
  release(): Promise<'released' | 'expired'>
  /** Throws `LeaseLostError` unless the lease is held. */
  assertHeld(): void
  /** `revoked`: an operator asks the holder to release. Returns a function that stops listening. */
  on(event: 'revoked', listener: () => void): () => void
  toJSON(): LeaseJson
}

/** The lease of a writer. */
export interface WriteLease extends Lease {
  /** Turns the lease into a reader's in one step, letting other readers in. Throws `LeaseLostError` or `StoreError`. */
  downgrade(): Promise<void>
}

/** One lease over several keys: held while all of them are. `token` and `id` are the first key's, in order. */
export interface GroupLease extends Lease {
  readonly leases: readonly Lease[]
}

export type Work<T, L extends Lease = Lease> = (lease: L) => Promise<T> | T

/** A lock on one key with its own defaults. */
export interface Mutex<O extends AcquireOptions = AcquireOptions, L extends Lease = Lease> {
  using<T>(work: Work<T, L>): Promise<T>
  using<T>(options: O, work: Work<T, L>): Promise<T>
  acquire(options?: O): Promise<L>
  tryAcquire(options?: O): Promise<L | null>
}

export interface ReadWriteLock {
  readonly read: Mutex
  readonly write: Mutex<AcquireOptions, WriteLease>
}

/** The numbers of holds and waiters of one `Locks` object right now. */
export interface LocalView {
  readonly held: number
  readonly waiting: number
}

export interface EvictOptions {
  /** Evict only the holder with this token. */
  token?: bigint
  /** Only ask the holder to release: its lease gets a `revoked` event. */
  ask?: boolean
  /** The operator's name for the record of the eviction: the label of this object by default. */
  by?: string
}

/** The record of one operator action against the holders of a key. */
export interface Eviction {
  /** The time, by the clock of the operator's process. */
  readonly at: string
  readonly by: string
  /** The holders were only asked to release. */
  readonly asked: boolean
  readonly holders: readonly {
    readonly label: string
    readonly token: string | null
    readonly heldMs: number | null
  }[]
}

export interface CoreLocks extends AsyncDisposable {
  /** Runs the work under the lock and returns what it returns. A lost lease rejects with `LeaseLostError`. */
  using<T>(key: string, work: Work<T>): Promise<T>
  using<T>(key: string, options: AcquireOptions, work: Work<T>): Promise<T>
  /** Throws `LockTimeoutError` when the key is not free in time. */
  acquire(key: string, options?: AcquireOptions): Promise<Lease>
  /** One attempt; null when the key is busy. */
  tryAcquire(key: string, options?: AcquireOptions): Promise<Lease | null>
  mutex(key: string, defaults?: AcquireOptions): Mutex
  /** Readers share, a writer is alone; a waiting writer is not overtaken by later readers. */
  rw(key: string, defaults?: AcquireOptions): ReadWriteLock
  semaphore(key: string, options: SemaphoreOptions): Mutex<PermitOptions>
  /** All keys or none, in one global order where the store cannot do it in one step. */
  all(keys: readonly string[], options?: AcquireOptions): Promise<GroupLease>
  /**
   * Runs the work with the key's row taken inside the caller's own transaction, on stores that share a database with the data:
   * lock and data commit or roll back together. There is no lease: the lock ends with the transaction.
   */
  within<T>(tx: object, key: string, work: (hold: TransactionHold) => Promise<T> | T): Promise<T>
  within<T>(
    tx: object,
    key: string,
    options: WithinOptions,
    work: (hold: TransactionHold) => Promise<T> | T,
  ): Promise<T>
  /** Takes over a lease that another process serialised; that process's lease ends. */
  adopt(lease: LeaseJson, options?: AdoptOptions): Promise<Lease>
  read(key: string): Promise<KeyView>
  list(options?: ListOptions): AsyncIterable<KeyView>
  /** An operator's force-release. Returns the labels of the holders that were evicted. */
  evict(key: string, options?: EvictOptions): Promise<readonly string[]>
  /** The evictions of the key within the last 30 days, the latest first; empty on a store without records. */
  evictions(key: string): Promise<readonly Eviction[]>
  /** Returns a function that stops listening. */
  on<N extends EventName>(event: N, listener: Listener<N>): () => void
  /** For metrics: grants and releases are counted without an event for each. Returns a function that stops it. */
  meter(meter: Meter): () => void
  /** The numbers of this object's holds and waiters. */
  local(): LocalView
  readonly traits: Traits
  /** The store's records, for recipes; null where the store has none. */
  readonly records: Records | null
  /** Releases what it holds, rejects what waits, and leaves no timer, socket or listener behind. */
  close(): Promise<void>
}

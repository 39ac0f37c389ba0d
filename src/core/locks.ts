import { ClosedError, quote, UnsupportedError } from '../errors.ts'
import type { KeyView, Mode } from '../model/index.ts'
import { acquireAll, eachOnce } from './acquire/group.ts'
import { GroupAttempts } from './acquire/group-attempts.ts'
import { LocalQueues } from './acquire/local-queues.ts'
import { Busy, orTimeout } from './acquire/waiter.ts'
import type {
  AcquireOptions,
  CoreLocks,
  Eviction,
  EvictOptions,
  GroupLease,
  Lease,
  LeaseJson,
  LocalView,
  LocksOptions,
  Mutex,
  PermitOptions,
  ReadWriteLock,
  Work,
  WriteLease,
} from './api.ts'
import { adminOf, recordsOf } from './calls/admin-calls.ts'
import { checkFunction, checkObject, checkOptions, checkText, type NamesOf } from './check.ts'
import { Engine } from './engine.ts'
import type { EventName, Listener } from './events.ts'
import { evict, evictionsOf } from './evict.ts'
import { adoptionOf } from './lease/adoption.ts'
import type { StoreLease } from './lease/lease.ts'
import { workUnder } from './lease/using.ts'
import { type WithinRest, within } from './lease/within.ts'
import {
  ACQUIRE_OPTIONS,
  LIST_OPTIONS,
  PERMIT_OPTIONS,
  SEMAPHORE_OPTIONS,
  WITHIN_OPTIONS,
} from './option-names.ts'
import {
  EXCLUSIVE,
  type LockRequest,
  permitsOf,
  requestOf,
  type Settings,
  SHARED,
  settingsOf,
  storeKeyOf,
} from './options.ts'
import type { Actors } from './reentry/actors.ts'
import { NestedLease, Reentry } from './reentry/reentry.ts'
import { releaseOnSignal } from './shutdown.ts'
import type { Admin, Records, Soon, Store, Traits } from './store.ts'

type AnyLease = StoreLease | NestedLease

/** The facade: checks options once, decides re-entry, and passes the request to the local queues. */
export class StoreLocks implements CoreLocks {
  private readonly engine: Engine
  private readonly queues: LocalQueues
  private readonly groups: GroupAttempts
  private readonly reentry = new Reentry()
  private readonly stopSignals: (() => void) | null
  readonly records: Records | null
  readonly admin: Admin
  readonly meter: CoreLocks['meter'] = (meter) => this.engine.addMeter(meter)
  private closed: Promise<void> | null = null

  constructor(store: Store, options: LocksOptions) {
    this.engine = new Engine(store, settingsOf(options, store))
    this.queues = new LocalQueues(this.engine)
    this.groups = new GroupAttempts(this.engine)
    this.engine.byKey = this.queues
    this.records = recordsOf(this.engine.client, store)
    this.admin = adminOf(this.engine.client, store)
    this.stopSignals = this.engine.settings.releaseOnSignal
      ? releaseOnSignal((isLast) => this.end(isLast))
      : null
  }

  get traits(): Traits {
    return this.engine.store.traits
  }

  get settings(): Settings {
    return this.engine.settings
  }

  /** The actors behind this process's claims, for deadlock detection; null without `onDeadlock`. */
  get actors(): Actors | null {
    return this.engine.actors
  }

  using<T>(key: string, ...rest: [Work<T>] | [AcquireOptions, Work<T>]): Promise<T> {
    return rest.length === 1
      ? this.run(key, EXCLUSIVE, undefined, rest[0])
      : this.run(key, EXCLUSIVE, rest[0], rest[1])
  }

  acquire(key: string, options?: AcquireOptions): Promise<Lease> {
    return this.take(key, EXCLUSIVE, options)
  }

  tryAcquire(key: string, options?: AcquireOptions): Promise<Lease | null> {
    return this.tryTake(key, EXCLUSIVE, options)
  }

  mutex(key: string, defaults?: AcquireOptions): Mutex {
    return this.lockOf(key, () => EXCLUSIVE, defaults)
  }

  rw(key: string, defaults?: AcquireOptions): ReadWriteLock {
    return {
      read: this.lockOf(key, () => SHARED, defaults),
      write: this.lockOf(key, () => EXCLUSIVE, defaults),
    }
  }

  semaphore(key: string, options: { limit: number } & PermitOptions): Mutex<PermitOptions> {
    const { limit, ...defaults } = checkOptions('options', options, SEMAPHORE_OPTIONS)
    const modeOf = ({ weight = 1 }: PermitOptions) => permitsOf(limit, weight)
    modeOf(defaults)
    return this.lockOf(key, modeOf, defaults, PERMIT_OPTIONS)
  }

  async all(keys: readonly string[], options?: AcquireOptions): Promise<GroupLease> {
    const requests = eachOnce(keys).map((key) => this.request(key, EXCLUSIVE, options))
    return orTimeout(this.engine, await acquireAll(this.engine, this.queues, this.groups, requests))
  }

  async within<T>(tx: object, key: string, ...rest: WithinRest<T>): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
    checkOptions('options', options, WITHIN_OPTIONS)
    return within(this.engine, tx, this.request(key, EXCLUSIVE, options), work)
  }

  async adopt(lease: LeaseJson, options: AcquireOptions = {}): Promise<Lease> {
    const adoption = adoptionOf(lease, options, this.traits)
    const request = this.request(lease.key, adoption.mode, adoption.options)
    const claim = { ...this.engine.claimOf(request), queue: false, replaces: lease.id }
    return orTimeout(this.engine, await this.queues.enterAlone(request, claim))
  }

  async read(key: string): Promise<KeyView> {
    return { ...(await this.admin.read(this.storeKey(key))), key }
  }

  async *list(options: { prefix?: string } = {}): AsyncIterable<KeyView> {
    this.assertOpen()
    const { prefix: start = '' } = checkOptions('options', options, LIST_OPTIONS)
    const { prefix } = this.engine.settings
    for await (const view of this.admin.list(prefix + checkText('prefix', start))) {
      yield { ...view, key: view.key.slice(prefix.length) }
    }
  }

  async evict(key: string, options: EvictOptions = {}): Promise<readonly string[]> {
    return evict(this.engine, this, this.storeKey(key), options)
  }

  async evictions(key: string): Promise<readonly Eviction[]> {
    return evictionsOf(this.records, this.storeKey(key))
  }

  on<N extends EventName>(event: N, listener: Listener<N>): () => void {
    return this.engine.events.on(event, listener)
  }

  local(): LocalView {
    return { held: this.engine.watchdog.size, waiting: this.queues.waiting }
  }

  close(): Promise<void> {
    return this.end(false)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** `quietly`: the process is about to end by a signal, and an error for its waiters would end it in another way. */
  private end(quietly: boolean): Promise<void> {
    this.closed ??= this.shutDown(quietly)
    return this.closed
  }

  private async shutDown(quietly: boolean): Promise<void> {
    const { engine } = this
    engine.closing = true
    if (!quietly) this.stopSignals?.()
    this.queues.close(quietly)
    this.groups.close()
    for (const hold of engine.watchdog.all()) {
      engine.watchdog.lose(hold, 'closed')
      engine.cleanup.release(hold.claim)
    }
    await engine.close()
  }

  private async run<T>(
    key: string,
    mode: Mode,
    options: AcquireOptions | undefined,
    work: Work<T, WriteLease>,
  ): Promise<T> {
    checkFunction('work', work)
    const request = this.request(key, mode, options)
    const soon = this.enter(request)
    const lease = orTimeout(this.engine, soon instanceof Promise ? await soon : soon)
    return workUnder(lease, () => (lease instanceof NestedLease ? work(lease) : this.workInside(lease, work)))
  }

  private workInside<T>(lease: StoreLease, work: Work<T, WriteLease>): Promise<T> | T {
    const { frame, reentrant } = lease.request
    if (!reentrant && frame === null) return work(lease)
    const entered = () => (reentrant ? this.reentry.run(lease, () => work(lease)) : work(lease))
    return frame === null ? entered() : frame.run(entered)
  }

  private async take(key: string, mode: Mode, options: AcquireOptions | undefined): Promise<AnyLease> {
    return orTimeout(this.engine, await this.takeFor(this.request(key, mode, options)))
  }

  private async tryTake(key: string, mode: Mode, options?: AcquireOptions): Promise<AnyLease | null> {
    const lease = await this.takeFor({ ...this.request(key, mode, options), waitMs: 0 })
    return lease instanceof Busy ? null : lease
  }

  private async takeFor(request: LockRequest): Promise<AnyLease | Busy> {
    request.frame?.enter()
    const lease = await this.enter(request)
    request.frame?.deliver()
    return lease
  }

  /** A lock on one key, with defaults that each call may change. */
  private lockOf<O extends AcquireOptions>(
    key: string,
    modeOf: (options: O) => Mode,
    defaults: AcquireOptions = {},
    known: NamesOf<AcquireOptions> = ACQUIRE_OPTIONS,
  ): Mutex<O, WriteLease> {
    storeKeyOf(key, this.engine.settings.prefix)
    checkOptions('defaults', defaults, known)
    const merged = (options?: O) => {
      if (options !== undefined) checkObject('options', options)
      const all = { ...defaults, ...options } as O
      return [key, modeOf(all), all] as const
    }
    return {
      using: <T>(...rest: [Work<T, WriteLease>] | [O, Work<T, WriteLease>]): Promise<T> => {
        const work = rest.length === 1 ? rest[0] : rest[1]
        // No async function: its promise around that of the work costs a tenth of a lock in memory.
        try {
          return this.run(...merged(rest.length === 1 ? undefined : rest[0]), work)
        } catch (error) {
          return Promise.reject(error)
        }
      },
      acquire: async (options) => this.take(...merged(options)),
      tryAcquire: async (options) => this.tryTake(...merged(options)),
    }
  }

  private enter(request: LockRequest): Soon<AnyLease | Busy> {
    if (request.signal?.aborted === true) throw request.signal.reason
    if (!request.reentrant) return this.queues.enter(request)
    const { runtime } = this.engine
    const sinceMs = runtime.nowMs()
    const nested = this.reentry.enter(request, runtime)
    if (!(nested instanceof Promise)) return nested ?? this.queues.enter(request)
    return nested.then((lease) => {
      const waitMs = Math.max(0, request.waitMs - (runtime.nowMs() - sinceMs))
      return lease ?? this.queues.enter({ ...request, waitMs })
    })
  }

  private request(key: string, mode: Mode, options: AcquireOptions | undefined): LockRequest {
    this.assertOpen()
    const { traits } = this.engine.store
    if (!traits.modes.includes(mode.kind))
      throw new UnsupportedError(`the ${traits.name} store has no ${mode.kind} mode (key ${quote(key)})`)
    const request = requestOf(key, mode, options, this.engine.settings)
    if (request.owner !== null && !traits.owners)
      throw new UnsupportedError(`the ${traits.name} store has no named owners (key ${quote(key)})`)
    return this.engine.announced(request)
  }

  /** The name of a key in the store. */
  storeKey(key: string): string {
    this.assertOpen()
    return storeKeyOf(key, this.engine.settings.prefix)
  }

  private assertOpen(): void {
    if (this.engine.closing) throw new ClosedError()
  }
}

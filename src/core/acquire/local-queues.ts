import { ClosedError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import type { Engine, NoticeTarget } from '../engine.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Soon, StoreNotice } from '../store.ts'
import type { LocalQueue } from './local-queue.ts'
import { ReaderQueue } from './reader-queue.ts'
import { TurnQueue } from './turn-queue.ts'
import type { Busy } from './waiter.ts'

const KEPT_QUEUES = 256

/** The local queues of a process: for each key one of exclusive claims, one of readers and one of permits. */
export class LocalQueues implements NoticeTarget {
  private readonly engine: Engine
  private readonly exclusive: QueuesByKey<TurnQueue>
  private readonly readers: QueuesByKey<ReaderQueue>
  private readonly permits: QueuesByKey<TurnQueue>
  /** Queues of one: claims that no other request can use. */
  private readonly alone = new Set<TurnQueue>()

  constructor(engine: Engine) {
    this.engine = engine
    this.exclusive = new QueuesByKey(() => new TurnQueue(engine, 1, true))
    this.readers = new QueuesByKey(() => new ReaderQueue(engine))
    this.permits = new QueuesByKey(({ mode }) => new TurnQueue(engine, limitOf(mode), false))
  }

  get waiting(): number {
    let { size: waiting } = this.alone
    for (const queue of this.exclusive.all()) waiting += queue.waiting
    for (const queue of this.readers.all()) waiting += queue.waiting
    for (const queue of this.permits.all()) waiting += queue.waiting
    return waiting
  }

  enter(request: LockRequest): Soon<StoreLease | Busy> {
    const { mode } = request
    // A named owner re-enters its own hold; a spinning claim may be overtaken for ever and must not block local waiters.
    if (request.owner !== null || request.spin !== null) return this.enterAlone(request)
    this.assertWanted(request)
    if (mode.kind === 'exclusive') return this.exclusive.of(request).enter(request)
    if (mode.kind === 'shared') return this.enterReader(request)
    const queue = this.permits.of(request)
    // The store refuses another limit as long as this one is in use.
    return queue.limit === mode.limit ? queue.enter(request) : this.enterAlone(request)
  }

  /** Sends a claim that serves only this request. */
  enterAlone(request: LockRequest, claim: Claim = this.engine.claimOf(request)): Soon<StoreLease | Busy> {
    this.assertWanted(request)
    const queue = new TurnQueue(this.engine, Number.POSITIVE_INFINITY, false)
    const soon = queue.enter(request, claim)
    if (!(soon instanceof Promise)) return soon
    this.alone.add(queue)
    const served = () => this.alone.delete(queue)
    soon.then(served, served)
    return soon
  }

  /** Passes on notices about exclusive claims. */
  notice(notice: StoreNotice): void {
    this.exclusive.known(notice.key)?.notice(notice)
  }

  close(quietly: boolean): void {
    const all: Iterable<LocalQueue>[] = [
      this.exclusive.all(),
      this.readers.all(),
      this.permits.all(),
      this.alone,
    ]
    for (const queues of all) for (const queue of queues) queue.close(quietly)
  }

  /** A group continues key by key; meanwhile the locks may be closed or its signal aborted. */
  private assertWanted({ signal }: LockRequest): void {
    if (this.engine.closing) throw new ClosedError()
    signal?.throwIfAborted()
  }

  private enterReader(request: LockRequest): Soon<StoreLease | Busy> {
    // The hold must not end for the others when one reader's time is over.
    const lasting = request.renew && request.maxHoldMs === Number.POSITIVE_INFINITY
    if (!lasting || !this.engine.settings.handover) return this.enterAlone(request)
    const writers = this.exclusive.known(request.storeKey)
    return this.readers.of(request).enter(request, writers !== undefined && writers.waiting > 0)
  }
}

function limitOf(mode: LockRequest['mode']): number {
  return mode.kind === 'permits' ? mode.limit : 1
}

/** Queues by the key's name in the store. Idle ones are kept for the next request until there are many. */
class QueuesByKey<Q extends LocalQueue> {
  private readonly queues = new Map<string, Q>()
  private readonly make: (request: LockRequest) => Q
  private sweepAt = KEPT_QUEUES

  constructor(make: (request: LockRequest) => Q) {
    this.make = make
  }

  of(request: LockRequest): Q {
    const { storeKey } = request
    const known = this.queues.get(storeKey)
    if (known !== undefined) return known
    if (this.queues.size >= this.sweepAt) this.sweep()
    const queue = this.make(request)
    this.queues.set(storeKey, queue)
    return queue
  }

  known(storeKey: string): Q | undefined {
    return this.queues.get(storeKey)
  }

  all(): Iterable<Q> {
    return this.queues.values()
  }

  /** Amortised: the next sweep comes after as many new queues as are left. */
  private sweep(): void {
    for (const [key, queue] of this.queues) if (queue.idle) this.queues.delete(key)
    this.sweepAt = Math.max(KEPT_QUEUES, this.queues.size * 2)
  }
}

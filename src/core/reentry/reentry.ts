import { AsyncLocalStorage } from 'node:async_hooks'
import { ConflictError, quote } from '../../errors.ts'
import { covers } from '../../model/index.ts'
import type { Duration, LeaseJson, WriteLease } from '../api.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Runtime } from '../runtime.ts'
import type { Soon } from '../store.ts'
import { proven } from './proven.ts'

type Held = ReadonlyMap<string, StoreLease>

/** One for the whole process: a used storage is never freed, and slows every promise. */
const storage = new AsyncLocalStorage<ReadonlyMap<Reentry, Held>>()

/** Re-entry by async context: work inside `using` finds the lease of its own context. Opt-in. */
export class Reentry {
  /** A nested lease, if this context holds the key in a mode that covers the request. */
  enter(request: LockRequest, runtime: Runtime): Soon<NestedLease | null> {
    const outer = storage.getStore()?.get(this)?.get(request.storeKey)
    if (outer === undefined || outer.ended) return null
    if (outer.held) return nested(outer, request)
    // A lease in doubt is not over: a request that queued now would wait for its own hold.
    return proven(outer, request, runtime).then(() => (outer.held ? nested(outer, request) : null))
  }

  run<T>(lease: StoreLease, work: () => T): T {
    const outer = storage.getStore()
    const held = new Map(outer?.get(this))
    held.set(lease.request.storeKey, lease)
    return storage.run(new Map(outer).set(this, held), work)
  }
}

function nested(outer: StoreLease, { key, mode }: LockRequest): NestedLease {
  if (covers(outer.hold.claim.mode, mode)) return new NestedLease(outer)
  throw new ConflictError(
    `${quote(key)} is held by this async context with less than it now asks for: it would wait for itself`,
  )
}

/** A further holder of a lease in the same context: only the outermost release frees the key. */
export class NestedLease implements WriteLease {
  private readonly outer: StoreLease
  private released = false
  readonly waitedMs = 0

  constructor(outer: StoreLease) {
    this.outer = outer
  }

  get key(): string {
    return this.outer.key
  }

  get id(): string {
    return this.outer.id
  }

  get token(): bigint | null {
    return this.outer.token
  }

  get signal(): AbortSignal {
    return this.outer.signal
  }

  get acquiredAt(): Date {
    return this.outer.acquiredAt
  }

  get held(): boolean {
    return !this.released && this.outer.held
  }

  remainingMs(): number {
    return this.released ? 0 : this.outer.remainingMs()
  }

  assertHeld(): void {
    this.outer.assertHeld()
  }

  extend(ttl: Duration): Promise<void> {
    return this.outer.extend(ttl)
  }

  async downgrade(): Promise<void> {
    throw new ConflictError(
      `${quote(this.key)} is held by an outer lease of this context: only that one can be downgraded`,
    )
  }

  async release(): Promise<'released' | 'expired'> {
    this.released = true
    return this.outer.lossError === null ? 'released' : 'expired'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.released = true
  }

  on(event: 'revoked', listener: () => void): () => void {
    return this.outer.on(event, listener)
  }

  toJSON(): LeaseJson {
    return this.outer.toJSON()
  }
}

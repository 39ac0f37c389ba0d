import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'
import type { ConflictError } from '../../errors.ts'
import type { Mode } from '../../model/index.ts'
import type { Waiter } from '../acquire/waiter.ts'
import type { Events } from '../events.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Runtime } from '../runtime.ts'
import { type Blockage, blockageOf } from './blockage.ts'

/** One for the whole process: a used storage is never freed, and slows every promise. */
const storage = new AsyncLocalStorage<ActorFrame>()

/** One request of an actor, while it waits or holds, and the enclosing frame of its async context. */
export class ActorFrame {
  readonly actors: Actors
  readonly id: number
  readonly storeKey: string
  readonly mode: Mode
  /** The actor that the caller names. */
  readonly name: string | null
  outer: ActorFrame | null
  waiter: Waiter | null = null
  lease: StoreLease | null = null
  /** It no longer waits or holds; a group that lost a key meanwhile may begin again. */
  over = false
  /** The caller has the lease, so its further requests come while it holds. */
  delivered = false
  /** The async resource in which the context was entered: code there runs beside the caller, not after it. */
  enteredOn: object | null = null
  /** The begin of the wait, as first published: the same in every comparison. */
  toldSinceMs: number | null = null

  constructor(
    actors: Actors,
    id: number,
    { storeKey, mode, name }: { storeKey: string; mode: Mode; name: string | null },
  ) {
    this.actors = actors
    this.id = id
    this.storeKey = storeKey
    this.mode = mode
    this.name = name
    this.outer = actors.above(storage.getStore() ?? null)
    this.outer?.forgetOver()
  }

  /** Drops ended frames: lock coupling (take the next, release the last) would make an endless chain of them. */
  forgetOver(): void {
    while (this.outer?.over === true) this.outer = this.outer.outer
  }

  /** Runs the work inside. */
  run<T>(work: () => T): T {
    this.delivered = true
    return storage.run(this, work)
  }

  /** The requests of the caller after this call and the delivery belong to this frame. */
  enter(): void {
    if (contextsStay()) this.enteredOn = executionAsyncResource()
    storage.enterWith(this)
  }

  deliver(): void {
    this.delivered = true
  }

  putInside(outer: ActorFrame | null): void {
    this.outer = outer
  }

  waits(waiter: Waiter): void {
    this.waiter = waiter
    this.actors.begin(this)
  }

  waitsNoMore(): void {
    this.waiter = null
    this.actors.end(this)
  }

  holds(lease: StoreLease): void {
    this.lease = lease
    this.actors.begin(this)
  }

  holdsNoMore(): void {
    this.lease = null
    this.actors.end(this)
  }
}

/** Hears that an actor which may hold something has begun to wait. */
export interface ActorWatcher {
  waiting(): void
  close(): Promise<void>
}

/** The actors behind the claims of this process: by async context, or by the name that the caller gives. Opt-in. */
export class Actors {
  /** Identifies the process, also among those with one label. */
  readonly process: string
  readonly events: Events
  watcher: ActorWatcher | null = null
  private readonly runtime: Runtime
  private readonly live = new Set<ActorFrame>()
  private lastId = 0

  constructor(process: string, runtime: Runtime, events: Events) {
    this.process = process
    this.events = events
    this.runtime = runtime
  }

  /** The request with its frame, inside the holds of its context. */
  track(request: LockRequest): LockRequest {
    const { storeKey, mode, named } = request
    const frame = new ActorFrame(this, ++this.lastId, { storeKey, mode, name: named })
    return { ...request, frame }
  }

  /** The nearest hold of these locks, at or around a frame, that belongs to the present caller. */
  above(from: ActorFrame | null): ActorFrame | null {
    let at = from
    while (at !== null && !this.isOurs(at)) at = at.outer
    return at
  }

  begin(frame: ActorFrame): void {
    frame.over = false
    this.live.add(frame)
    const mayHold = frame.outer !== null || frame.name !== null
    if (frame.waiter !== null && mayHold) this.watcher?.waiting()
  }

  end(frame: ActorFrame): void {
    if (frame.waiter !== null || frame.lease !== null) return
    frame.over = true
    this.live.delete(frame)
  }

  /** True if an actor waits that may hold something. */
  get waiting(): boolean {
    for (const { waiter, outer, name } of this.live)
      if (waiter !== null && (outer !== null || name !== null)) return true
    return false
  }

  /** The actors that have waited for longer than that while they hold, and their holds. */
  blockage(longerThanMs: number): Blockage {
    return blockageOf(this.live, longerThanMs, this.runtime)
  }

  /** Ends a wait with an error; false when it is over already. */
  refuse(id: number, error: ConflictError): boolean {
    for (const frame of this.live) if (frame.id === id) return frame.waiter?.refuse(error) ?? false
    return false
  }

  private isOurs({ actors, lease, delivered, enteredOn }: ActorFrame): boolean {
    if (actors !== this || lease === null || !delivered) return false
    return enteredOn === null || enteredOn !== executionAsyncResource()
  }
}

let stays: boolean | null = null

/**
 * True if an entered context stays with its resource, as in Node 20 and 22: the next message of a socket, or the
 * next tick of an interval, would find itself inside the frame of the last request.
 */
function contextsStay(): boolean {
  if (stays === null) {
    const probe = new AsyncLocalStorage<boolean>()
    const resource = new AsyncResource('holdfast')
    resource.runInAsyncScope(() => probe.enterWith(true))
    stays = resource.runInAsyncScope(() => probe.getStore()) === true
    probe.disable()
  }
  return stays
}

import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'
import type { ConflictError } from '../errors.ts'
import type { Mode } from '../model/index.ts'
import { type Blockage, blockageOf } from './blockage.ts'
import type { Events } from './events.ts'
import type { StoreLease } from './lease.ts'
import type { Request } from './options.ts'
import type { Runtime } from './runtime.ts'
import type { Ticket } from './ticket.ts'

/** One for the whole process: a storage that was used once is never given back, and every promise pays for it. */
const storage = new AsyncLocalStorage<Acquisition>()

/** One acquisition, as long as it waits or holds, and the one that its async context had before. */
export class Acquisition {
  readonly actors: Actors
  readonly id: number
  readonly storeKey: string
  readonly mode: Mode
  /** The actor that the caller names. */
  readonly name: string | null
  outer: Acquisition | null
  ticket: Ticket | null = null
  lease: StoreLease | null = null
  /** Whether the caller has the lease: what it does afterwards, it does while it holds. */
  delivered = false
  /** Where the context was entered; what runs there is beside the caller, not after it. */
  enteredOn: object | null = null
  /** When the wait began, as first told to others: the same for all who compare. */
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
  }

  /** Runs the work inside. */
  run<T>(work: () => T): T {
    this.delivered = true
    return storage.run(this, work)
  }

  /** What the caller does after this call and the delivery, it does inside. */
  enter(): void {
    if (contextsStay()) this.enteredOn = executionAsyncResource()
    storage.enterWith(this)
  }

  deliver(): void {
    this.delivered = true
  }

  putInside(outer: Acquisition | null): void {
    this.outer = outer
  }

  waits(ticket: Ticket): void {
    this.ticket = ticket
    this.actors.begin(this)
  }

  waitsNoMore(): void {
    this.ticket = null
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

/** Who is told that a wait has begun, of an actor that may hold something. */
export interface ActorWatcher {
  waiting(): void
  close(): Promise<void>
}

/** Who is behind which claims of this process: by async context, or by the name that the caller gives. Opt-in. */
export class Actors {
  /** Tells processes apart, also those with one label. */
  readonly process: string
  readonly events: Events
  watcher: ActorWatcher | null = null
  private readonly runtime: Runtime
  private readonly live = new Set<Acquisition>()
  private lastId = 0

  constructor(process: string, runtime: Runtime, events: Events) {
    this.process = process
    this.events = events
    this.runtime = runtime
  }

  /** The request with its acquisition, inside whatever its context holds already. */
  track(request: Request): Request {
    const { storeKey, mode, named } = request
    const acquisition = new Acquisition(this, ++this.lastId, { storeKey, mode, name: named })
    return { ...request, acquisition }
  }

  /** The nearest hold of these locks at or around an acquisition that belongs to whoever asks now. */
  above(from: Acquisition | null): Acquisition | null {
    let at = from
    while (at !== null && !this.isOurs(at)) at = at.outer
    return at
  }

  begin(acquisition: Acquisition): void {
    this.live.add(acquisition)
    const mayHold = acquisition.outer !== null || acquisition.name !== null
    if (acquisition.ticket !== null && mayHold) this.watcher?.waiting()
  }

  end(acquisition: Acquisition): void {
    if (acquisition.ticket === null && acquisition.lease === null) this.live.delete(acquisition)
  }

  /** Whether somebody waits that may hold something. */
  get waiting(): boolean {
    for (const { ticket, outer, name } of this.live)
      if (ticket !== null && (outer !== null || name !== null)) return true
    return false
  }

  /** Who waits for longer than that while it holds, and what it holds. */
  blockage(longerThanMs: number): Blockage {
    return blockageOf(this.live, longerThanMs, this.runtime)
  }

  /** Ends a wait with an error; false when it is over already. */
  refuse(id: number, error: ConflictError): boolean {
    for (const acquisition of this.live)
      if (acquisition.id === id) return acquisition.ticket?.refuse(error) ?? false
    return false
  }

  private isOurs({ actors, lease, delivered, enteredOn }: Acquisition): boolean {
    if (actors !== this || lease === null || !delivered) return false
    return enteredOn === null || enteredOn !== executionAsyncResource()
  }
}

let stays: boolean | null = null

/**
 * Whether a context that was entered stays with its resource, as in Node 20 and 22: the next message of a socket, or the
 * next tick of an interval, would find itself inside the acquisition of the last one.
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

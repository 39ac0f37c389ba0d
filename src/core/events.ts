import type { DeadlockStep } from '../errors.ts'
import type { LossCause } from '../model/index.ts'
import { checkListener, type NamesOf } from './check.ts'

/** The events of a `Locks` object. */
export interface LockEvents {
  /** A caller requests a key. Emitted in the caller's own async context; later events of the same request have the same `ref`. */
  entered: { key: string; ref: object }
  granted: {
    key: string
    token: bigint | null
    waitedMs: number
    handedOver: boolean
    ttlMs: number
    ref: object | null
  }
  /** A claim is blocked and begins to wait. */
  waiting: { key: string; position: number; holder: string | null }
  timeout: { key: string; waitedMs: number }
  /** A caller did not get the key. `busy`: it did not wait; `cancelled`: by its own signal. */
  turnedAway: { key: string; why: TurnedAway; waitedMs: number; ref: object | null }
  renewed: { key: string; token: bigint | null; tookMs: number }
  renewFailed: { key: string; token: bigint | null; error: unknown }
  lost: {
    key: string
    token: bigint | null
    cause: LossCause | 'deadline' | 'closed'
    heldMs: number
    ref: object | null
  }
  released: {
    key: string
    token: bigint | null
    heldMs: number
    outcome: 'released' | 'expired'
    ref: object | null
  }
  /** A release whose outcome is unknown; the lease ends with its ttl. */
  releaseFailed: { key: string; token: bigint | null; heldMs: number; error: unknown; ref: object | null }
  handedOver: { key: string; token: bigint | null }
  /** An operator asks the holder to release. */
  revoked: { key: string; token: bigint | null }
  /** A cycle of waits over one or more processes. `victim`: the wait that ends with an error, if any. */
  deadlock: { cycle: readonly DeadlockStep[]; victim: DeadlockStep | null }
  /** The event loop stood still, or the machine slept: leases are renewed before they are trusted. */
  stalled: { stalledMs: number; leases: number }
  /** The server's configuration endangers locks. Without a listener it becomes a warning of the process, once. */
  warning: { code: string; message: string }
  /** A call to the store failed or did not answer in time. */
  storeFailed: { call: StoreCallName; claims: number; error: unknown }
  /** A call to the store has ended, with an answer or an error. */
  storeCall: { call: StoreCallName; claims: number; tookMs: number; failed: boolean }
}

export type StoreCallName = 'attempt' | 'renew' | 'release' | 'admin' | 'records'
export type TurnedAway = 'timeout' | 'busy' | 'cancelled' | 'failed'

export type EventName = keyof LockEvents
export type Listener<N extends EventName> = (event: LockEvents[N]) => void

export const LOCK_EVENTS: NamesOf<LockEvents> = {
  entered: true,
  granted: true,
  waiting: true,
  timeout: true,
  turnedAway: true,
  renewed: true,
  renewFailed: true,
  lost: true,
  released: true,
  releaseFailed: true,
  handedOver: true,
  revoked: true,
  deadlock: true,
  stalled: true,
  warning: true,
  storeFailed: true,
  storeCall: true,
}

/** Listeners by event. An event without a listener costs one look-up. */
export class Events<E extends object = LockEvents> {
  private readonly known: NamesOf<E>
  /** Lists are replaced, not changed, so that listeners may be added and removed during `emit`. */
  private readonly listeners = new Map<keyof E, readonly ((event: never) => void)[]>()

  constructor(known: NamesOf<E>) {
    this.known = known
  }

  on<N extends keyof E>(name: N, listener: (event: E[N]) => void): () => void {
    checkListener(name, listener, this.known)
    const others = () => this.listeners.get(name)?.filter((each) => each !== listener) ?? []
    this.listeners.set(name, [...others(), listener])
    return () => {
      const left = others()
      if (left.length === 0) this.listeners.delete(name)
      else this.listeners.set(name, left)
    }
  }

  has(name: keyof E): boolean {
    return this.listeners.has(name)
  }

  emit<N extends keyof E>(name: N, event: E[N]): void {
    const listeners = this.listeners.get(name)
    if (listeners === undefined) return
    for (let index = 0; index < listeners.length; index++) {
      try {
        ;(listeners[index] as (event: E[N]) => void)(event)
      } catch (error) {
        // A listener's bug must not break a lock; the process still warns.
        process.emitWarning(`a listener of ${String(name)} threw: ${String(error)}`, 'HoldfastWarning')
      }
    }
  }

  clear(): void {
    this.listeners.clear()
  }
}

/** Counts grants and releases without an event object for each: there may be many thousands a second. Must not throw. */
export interface Meter {
  /** Returns the meter of this hold. */
  granted(key: string, waitedMs: number, handedOver: boolean): HoldMeter
}

export interface HoldMeter {
  released(heldMs: number, outcome: 'released' | 'expired'): void
}

/** Several meters as one; null for none. */
export function combined(meters: readonly Meter[]): Meter | null {
  const [first = null] = meters
  if (meters.length < 2) return first
  return {
    granted(key, waitedMs, handedOver) {
      const holds = meters.map((meter) => meter.granted(key, waitedMs, handedOver))
      return {
        released(heldMs, outcome) {
          for (const hold of holds) hold.released(heldMs, outcome)
        },
      }
    },
  }
}

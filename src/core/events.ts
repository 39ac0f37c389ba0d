import type { LossCause } from '../model/index.ts'

/** Everything a `Locks` object tells. */
export interface LockEvents {
  granted: { key: string; token: bigint | null; waitedMs: number; handedOver: boolean }
  /** A claim is blocked and begins to wait. */
  waiting: { key: string; position: number; holder: string | null }
  timeout: { key: string; waitedMs: number }
  renewed: { key: string; token: bigint | null; tookMs: number }
  renewFailed: { key: string; token: bigint | null; error: unknown }
  lost: { key: string; token: bigint | null; cause: LossCause | 'deadline' | 'closed'; heldMs: number }
  released: { key: string; token: bigint | null; heldMs: number; outcome: 'released' | 'expired' }
  /** A release whose outcome is unknown; the lease ends with its ttl. */
  releaseFailed: { key: string; token: bigint | null; error: unknown }
  handedOver: { key: string; token: bigint | null }
  /** An operator asks the holder to let go. */
  revoked: { key: string; token: bigint | null }
  /** The event loop stood still, or the machine slept: leases are proven before they are trusted. */
  stalled: { stalledMs: number; leases: number }
  /** The server stands in a way that endangers locks. Without a listener it becomes a warning of the process, once. */
  warning: { code: string; message: string }
  /** A call to the store failed or did not answer in time. */
  storeFailed: { call: 'attempt' | 'renew' | 'release' | 'admin' | 'records'; claims: number; error: unknown }
}

export type EventName = keyof LockEvents
export type Listener<N extends EventName> = (event: LockEvents[N]) => void

/** Listeners by event. An event nobody listens to costs one look-up. */
export class Events<E extends object = LockEvents> {
  private readonly listeners = new Map<keyof E, Set<(event: never) => void>>()

  on<N extends keyof E>(name: N, listener: (event: E[N]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set()
    this.listeners.set(name, set)
    set.add(listener)
    return () => {
      set.delete(listener)
      if (set.size === 0 && this.listeners.get(name) === set) this.listeners.delete(name)
    }
  }

  has(name: keyof E): boolean {
    return this.listeners.has(name)
  }

  emit<N extends keyof E>(name: N, event: E[N]): void {
    const set = this.listeners.get(name)
    if (set === undefined) return
    for (const listener of [...set]) {
      try {
        ;(listener as (event: E[N]) => void)(event)
      } catch (error) {
        // A listener's bug must not break a lock; the host still gets to see it.
        process.emitWarning(`a listener of ${String(name)} threw: ${String(error)}`, 'HoldfastWarning')
      }
    }
  }

  clear(): void {
    this.listeners.clear()
  }
}

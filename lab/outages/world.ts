import { connect, type Locks } from 'holdfast'
import { CALL_TIMEOUT_MS, TTL_MS, WAIT_MS } from './settings.ts'

/** One bad day of the servers of a store. */
export interface Fault {
  readonly name: string
  /** Heals by itself after this time; else when every call has ended. */
  readonly lastsMs?: number
  /** The store can serve again while the fault lasts: recovery counts from its start. */
  readonly stays?: boolean
  start(): Promise<void> | void
  heal(): Promise<void> | void
}

/** The servers of a store, and their faults. */
export interface World {
  /** Null where callers bring their own client. */
  readonly url: string | null
  readonly faults: readonly Fault[]
  /** Faults that cannot be played here, and why. */
  readonly notTried?: Readonly<Record<string, string>>
  /** Calls are played one at a time: the store is synchronous, and one call delays the others. */
  readonly alone?: boolean
  open(): Promise<Locks>
  /** A transaction of the caller, on a connection that ends with the signal. */
  begin?(url: string, over: AbortSignal): Promise<object>
  /** Until the servers serve again after a fault. */
  settle?(): Promise<void>
  stop(): Promise<void>
}

export const OPTIONS = { ttl: TTL_MS, wait: WAIT_MS, callTimeout: CALL_TIMEOUT_MS } as const

/** A world in which callers connect by a URL. */
export function worldOf(url: string, rest: Omit<World, 'url' | 'open'>): World {
  return { url, open: () => connect(url, OPTIONS), ...rest }
}

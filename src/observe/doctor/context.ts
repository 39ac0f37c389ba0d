import type { HolderView, KeyView } from '../../model/index.ts'
import type { DoctorSettings } from './options.ts'

/** The published habits of keys like this one. */
export interface Usual {
  readonly pattern: string
  /** The number of holds in the statistics. */
  readonly holds: number
  /** The time that a claim of the store kept the key from other processes, 99th percentile. */
  readonly closedP99Ms: number
  /** The time of the work under a lease, 99th percentile. */
  readonly workP99Ms: number
  /** The longest ttl in use. */
  readonly ttlMs: number
  /** The part of the leases that expired. */
  readonly expired: number
}

/** A key at the first look, as much as shows if it moved since. */
export interface Glimpse {
  /** The remaining time of each hold, by label and token. */
  readonly holds: ReadonlyMap<string, number | null>
  readonly head: { readonly label: string; readonly waitedMs: number } | null
}

/** The input of every judgement. */
export interface DoctorContext {
  readonly settings: DoctorSettings
  /** The longest ttl that this `Locks` object allows. */
  readonly maxTtlMs: number
  /** The time between the two looks at the key. */
  readonly elapsedMs: number
  readonly wallMs: number
  usualOf(key: string): Usual | null
  whyGone(label: string, sinceMs: number): string | null
  /** The stopped process: the one behind a label, or the command that it runs; null if none is stopped. */
  stoppedPid(label: string): number | null
  /** The store has no listener for the fate of such a claim. */
  isDeaf(role: 'holder' | 'waiter', key: string, label: string): boolean
}

/** Fewer holds than this say nothing about the usual. */
export const ENOUGH_HOLDS = 20
/** This multiple of the usual is far beyond it. */
export const FAR = 10

export function glimpseOf({ holders, queue }: KeyView): Glimpse {
  const [head] = queue
  return {
    holds: new Map(holders.map((holder) => [nameOf(holder), holder.expiresInMs])),
    head: head === undefined ? null : { label: head.label, waitedMs: head.waitedMs },
  }
}

/** The remaining time of a hold at the first look; undefined if its holder did not have the key then. */
export function leftBefore(holder: HolderView, before: Glimpse | undefined): number | null | undefined {
  return before?.holds.get(nameOf(holder))
}

function nameOf({ label, token }: HolderView): string {
  return `${label} ${token}`
}

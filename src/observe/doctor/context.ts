import type { HolderView, KeyView } from '../../model/index.ts'
import type { DoctorSettings } from './options.ts'

/** The published habits of keys like this one. */
export interface Usual {
  readonly pattern: string
  /** How many holds it is made from. */
  readonly holds: number
  /** How long the key was closed to others, 99 times of 100, by claims of the store. */
  readonly closedP99Ms: number
  /** How long the work under a lease took, 99 times of 100. */
  readonly workP99Ms: number
  /** The longest ttl that anybody used. */
  readonly ttlMs: number
  /** How many of the leases were lost because they ran out. */
  readonly expired: number
}

/** A key at the first look, as much as shows if it moved since. */
export interface Glimpse {
  /** The remaining time of each hold, by label and token. */
  readonly holds: ReadonlyMap<string, number | null>
  readonly head: { readonly label: string; readonly waitedMs: number } | null
}

/** Everything that judgement depends on. */
export interface Context {
  readonly settings: DoctorSettings
  /** The longest ttl that the settings of this `Locks` object allow. */
  readonly maxTtlMs: number
  /** The time between the two looks at the key. */
  readonly elapsedMs: number
  readonly wallMs: number
  usualOf(key: string): Usual | null
  whyGone(label: string, sinceMs: number): string | null
  /** The process that is stopped: the one behind a label, or the command that it runs; null when none is. */
  stoppedPid(label: string): number | null
  /** The store has no listener for the fate of such a claim. */
  isDeaf(role: 'holder' | 'waiter', key: string, label: string): boolean
}

/** Fewer holds than this tell nothing about what is usual. */
export const ENOUGH_HOLDS = 20
/** So many times the usual is far beyond it. */
export const FAR = 10

export function glimpseOf({ holders, line }: KeyView): Glimpse {
  const [head] = line
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

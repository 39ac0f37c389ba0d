import type { Runtime } from '../../core/runtime.ts'
import type { Soon, Store } from '../../core/store.ts'

export const TOPICS = [
  'exclusion',
  'keys',
  'expiry',
  'takeover',
  'stale release',
  'waiting and fairness',
  'crowds',
  'cancel while waiting',
  'renewal',
  'loss',
  'unknown outcomes',
  're-entry',
  'modes',
  'several keys',
  'fencing',
  'adoption',
  'admin',
  'records',
  'stock',
  'clean-up',
] as const

export type Topic = (typeof TOPICS)[number]

/** A case, or a whole topic, that does not apply to a store. The reason is shown in its place. */
export interface Skip {
  readonly topic: Topic
  /** The name of one case; by default the whole topic. */
  readonly case?: string
  readonly reason: string
}

/** Faults that only the owner of the server can cause. A case without its fault is skipped and says so. */
export interface FaultHooks {
  /** Breaks the store's connections once, like a network reset; the store is expected to recover. */
  disconnect?(store: Store): Soon<void>
  /** An event that servers survive without losing data: a flushed script cache, a new leader. */
  disturb?(): Soon<void>
}

/** The store under test. */
export interface ConformanceTarget {
  readonly name: string
  /** A new connection to the same world: every connection sees the claims of the others. */
  open(): Soon<Store>
  readonly skips?: readonly Skip[]
  readonly faults?: FaultHooks
  /** The longest delay of the server for effects of time alone, such as an expiry: default 1000. */
  readonly slackMs?: number
  /** The clock that the cases sleep on; a store on a fake clock can be tested without waiting. */
  readonly runtime?: Runtime
}

/** The context that test runners pass to a test: vitest's and node:test's both fit. */
export interface CaseContext {
  skip(reason: string): unknown
}

export interface ConformanceCase {
  readonly topic: Topic
  readonly name: string
  /** Rejects with an assertion that names the store's mistake. */
  readonly run: (context?: CaseContext) => Promise<void>
}

export interface ConformanceReport {
  readonly passed: readonly { readonly topic: Topic; readonly name: string; readonly tookMs: number }[]
  readonly failed: readonly { readonly topic: Topic; readonly name: string; readonly error: Error }[]
  readonly skipped: readonly { readonly topic: Topic; readonly name: string; readonly reason: string }[]
}

import type { DeadlockStep } from 'holdfast'

/** The start message of a worker of the counter. */
export interface CounterOrder {
  readonly name: string
  /** Where the database, the counter file and the witness's socket are. */
  readonly folder: string
  readonly ttlMs: number
}

/** A message of a worker to the witness; the worker waits for each answer. */
export type Testimony =
  | { readonly kind: 'ready'; readonly name: string }
  | { readonly kind: 'enter'; readonly token: string }
  /** The increment is in the file. */
  | { readonly kind: 'exit'; readonly sequence: number; readonly value: number }

export type Answer = 'go' | 'stop'

/** The content of the counter file. */
export interface Counter {
  readonly value: number
  /** How many of the increments are whose: what tells an increment that was made from one that was not. */
  readonly of: Readonly<Record<string, number>>
}

export const FILES = { database: 'locks.db', counter: 'counter.json', socket: 'witness.sock' } as const

/** A message of the paused program to its resource, which is the test. */
export type FromPaused =
  | { readonly kind: 'write'; readonly token: string; readonly knowing: 'held' | 'lost' }
  | { readonly kind: 'aborted'; readonly code: string }

/** The start message of a buyer. */
export interface ShopOrder {
  readonly url: string
  readonly from: number
  readonly to: number
}

/** The start message of a handler of payment callbacks. */
export interface PayOrder {
  readonly url: string
  readonly name: string
  readonly deliveries: number
  /** The file to which every charge adds a line. */
  readonly effects: string
}

/** The start message of a process that locks in an order of its own. */
export interface CrosswiseOrder {
  readonly url: string
  readonly prefix: string
  readonly label: string
  /** The key to take first, and the one to take while holding that. */
  readonly pairs: readonly (readonly [string, string])[]
  readonly by: 'using' | 'acquire'
}

/** Its messages; `key` is the first of a pair. */
export type FromCrosswise =
  | { readonly kind: 'has'; readonly key: string }
  | { readonly kind: 'done'; readonly key: string }
  | { readonly kind: 'gave up'; readonly key: string; readonly cycle: readonly DeadlockStep[] }

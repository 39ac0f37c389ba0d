import type { StoreWarning } from './store.ts'

/** The scope of an operator's look at a server. */
export interface InspectOptions {
  /** Patterns, with `*` for any text, of keys that other programs use as locks. */
  readonly foreign: readonly string[]
  /** Leftovers that have been dead for less than this are left out: they go by themselves. */
  readonly deadForMs: number
  /** Foreign keys come with a proof of their value. Reading it makes them look as if they were in use. */
  readonly values: boolean
}

/** How far a clock is ahead of ours. */
export interface ClockFact {
  readonly kind: 'clock'
  /** The owner of the clock, in words. */
  readonly whose: string
  readonly aheadMs: number
}

/** The process of a holder or a waiter no longer listens to the store. */
export interface DeafFact {
  readonly kind: 'deaf'
  readonly key: string
  readonly role: 'holder' | 'waiter'
  readonly label: string
}

/** A leftover in the store, or a foreign key without an expiry, which its owner must judge. */
export interface Remains {
  readonly kind: 'foreign' | 'orphan'
  /** Its name in the server. */
  readonly name: string
  /** Its description, in words. */
  readonly what: string
  /** The number of things that the name stands for. */
  readonly count: number
  /** It keeps a key closed. */
  readonly blocking: boolean
  /** The time since its last use; null where the server does not tell. */
  readonly idleMs: number | null
  /** The condition of its removal; only the store can read it. */
  readonly proof: string
}

/** A part of the server that a store cannot inspect, and why. */
export interface UnseenFact {
  readonly kind: 'unseen'
  readonly what: string
  readonly why: string
}

/** A finding of a store about its server, or about other things in it than locks. */
export type Fact = StoreWarning | ClockFact | DeafFact | Remains | UnseenFact

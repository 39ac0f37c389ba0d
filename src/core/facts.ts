import type { StoreWarning } from './store.ts'

/** What an operator wants to know about a server. */
export interface InspectOptions {
  /** Names, with `*` for any text, of what other programs use as locks. */
  readonly foreign: readonly string[]
  /** What has been dead for less than this will go by itself and is not told. */
  readonly deadForMs: number
  /** Whether foreign keys are told with a proof of their value. To read it makes them look as if they were in use. */
  readonly values: boolean
}

/** How far a clock is ahead of ours. */
export interface ClockFact {
  readonly kind: 'clock'
  /** Whose clock it is, in words. */
  readonly whose: string
  readonly aheadMs: number
}

/** Nobody listens any more where the store would tell a holder or a waiter something. */
export interface DeafFact {
  readonly kind: 'deaf'
  readonly key: string
  readonly role: 'holder' | 'waiter'
  readonly label: string
}

/** Something that lies in the store and that nobody needs; foreign keys without an end are for others to judge. */
export interface Remains {
  readonly kind: 'foreign' | 'orphan'
  /** As the server knows it. */
  readonly name: string
  /** What it is, in words. */
  readonly what: string
  /** How many of them the name stands for. */
  readonly count: number
  /** Whether it keeps a key closed. */
  readonly blocking: boolean
  /** How long nobody has used it; null where the server does not tell. */
  readonly idleMs: number | null
  /** What must still be so when it is removed; means something to the store alone. */
  readonly proof: string
}

/** What a store cannot look at, and why. */
export interface UnseenFact {
  readonly kind: 'unseen'
  readonly what: string
  readonly why: string
}

/** What a store tells about its server and about what lies beside the locks. */
export type Fact = StoreWarning | ClockFact | DeafFact | Remains | UnseenFact

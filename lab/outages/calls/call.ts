import type { Locks } from 'holdfast'

/** The environment of one call; made before the fault. */
export interface Stage {
  readonly url: string | null
  readonly key: string
  /** It has talked to the servers. */
  readonly locks: Locks
  /** The same, or for a pair another one, as in another process. */
  readonly other: Locks
  /** Begins a transaction of the caller, where the store shares a database with the data. */
  readonly begin: (() => Promise<object>) | null
  /** Fires when nobody looks at the outcome any more. */
  readonly over: AbortSignal
}

/** One public call: its deadline, and how it is played. */
export interface Call {
  readonly name: string
  readonly boundMs: number
  /** Where the bound comes from. */
  readonly bound: string
  /** Only where callers connect by a URL. */
  readonly byUrl?: boolean
  /** Needs two objects. */
  readonly pair?: boolean
  /** In a process of its own, whose start would delay the timers of the others. */
  readonly apart?: boolean
  /** Before the fault; returns what is done during it, which says how it ended, or null where the store does not offer the call. */
  prepare(stage: Stage): Promise<(() => Promise<string>) | null>
}

/** The promises that a history is held to. */
export type Promised =
  | 'overlap'
  | 'linearizable'
  | 'tokens'
  | 'stale write'
  | 'recovery'
  | 'ghost'
  | 'wake-up'
  | 'cut off'
  | 'order'
  | 'settled'
  | 'leftovers'
  | 'manners'

export interface Violation {
  readonly check: Promised
  readonly atMs: number
  readonly key: string
  readonly what: string
  /** The processes involved. */
  readonly ops: readonly string[]
}

/** Two leases that were valid at once, or more permits than there are. */
export interface Overlap extends Violation {
  /** `A`: nobody has announced this. `C`: the store's own documents say that this fault may do it. */
  readonly class: 'A' | 'C'
}

/** The promises that a run checks. */
export type Invariant =
  | 'overlap'
  | 'signal late'
  | 'revived'
  | 'token repeats'
  | 'token falls'
  | 'token missing'
  | 'register went back'
  | 'claim counted twice'
  | 'renewal created'
  | 'sent after release'
  | 'unknown attempt left'
  | 'stray vote'
  | 'not served'
  | 'starved'
  | 'settled late'
  | 'wrong error'
  | 'left after close'
  | 'unhandled rejection'
  | 'runaway'

export interface Violation {
  readonly invariant: Invariant
  readonly atUs: number
  readonly what: string
}

export type Fail = (invariant: Invariant, what: string) => void

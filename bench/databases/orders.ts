import type { DatabaseName, Seat } from './subjects.ts'

/** The order to the program of this benchmark, which runs in its own process. */
export interface Order {
  readonly database: DatabaseName
  readonly url: string
  readonly subjects: readonly string[]
  /** `alone`: one after the other. `waiters`: fifty at once on one key. `contender`: one of several processes on one key. */
  readonly part: 'alone' | 'waiters' | 'contender'
  readonly rounds: number
  readonly roundMs: number
  /** How often a contender takes a key of its own before it begins. */
  readonly warmUps: number
  readonly seat: Seat
}

/** By subject, what each round brought per second. */
export type Rates = Readonly<Record<string, readonly number[]>>

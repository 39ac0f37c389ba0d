import type { Bundle } from './bundle.ts'
import type { Machine } from './machine.ts'
import type { Result, Row, Size, Target } from './result.ts'

export interface Bench {
  run(context: Context): Result | Promise<Result>
  /** Judges rows that were measured at different times; only a benchmark that has parts has it. */
  judge?(rows: readonly Row[]): Target[]
  /** True if subjects, too, can be measured at different times. */
  readonly bySubject?: true
  /** The rows as SVG. */
  draw?(result: Result, machine: Machine): string
}

/** The input of a benchmark. */
export interface Context {
  readonly bundle: Bundle
  readonly size: Size
  /** The parts that are wanted, where a benchmark has parts; all when left out. */
  readonly only?: readonly string[]
  /** The stores that are wanted, where a benchmark has several; all when left out. */
  readonly stores?: readonly string[]
  /** True for a run of a few minutes, where a benchmark can be long. */
  readonly quick?: boolean
  /** A folder for CPU profiles of every subject. */
  readonly profile?: string
  progress(what: string): void
}

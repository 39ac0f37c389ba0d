import type { Bundle } from './bundle.ts'
import type { Size } from './result.ts'

/** What a benchmark is given. */
export interface Context {
  readonly bundle: Bundle
  readonly size: Size
  /** The parts that are wanted, where a benchmark has parts; all when left out. */
  readonly only?: readonly string[]
  /** A folder for CPU profiles of every subject. */
  readonly profile?: string
  progress(what: string): void
}

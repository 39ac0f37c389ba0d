import type { Stage } from './context.ts'
import type { Figure } from './figures.ts'

/** Something that the run had to show. */
export interface Assertion {
  readonly text: string
  readonly shown: boolean
}

export interface ScenarioOutcome {
  readonly figures: readonly Figure[]
  readonly claims: readonly Assertion[]
  /** The meaning, in a sentence or two. */
  readonly verdict: string
  /** The raw figures, for `--json`. */
  readonly data: object
}

export interface Scenario {
  readonly name: string
  /** Scenarios of one group can be asked for together. */
  readonly group: string
  readonly title: string
  /** The plot, in a sentence or two. */
  readonly about: string
  /** True if it breaks servers, and not only processes. */
  readonly breaksServers?: boolean
  /** True if no model can stand for the servers that it needs. */
  readonly onlyReal?: boolean
  run(stage: Stage): Promise<ScenarioOutcome>
}

export function claim(shown: boolean, text: string): Assertion {
  return { shown, text }
}

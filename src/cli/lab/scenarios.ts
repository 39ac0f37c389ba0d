import type { Scenario } from './scenario.ts'
import { GENERATIONS } from './scenarios/generations.ts'

/** Everything that the lab shows, in the order in which the story is told. */
export const SCENARIOS: readonly Scenario[] = [...GENERATIONS]

import { EPISODE_SCENARIOS } from './episodes.ts'
import type { Scenario } from './scenario.ts'

/** Everything that the lab shows, in the order in which the story is told. */
export const SCENARIOS: readonly Scenario[] = [...EPISODE_SCENARIOS]

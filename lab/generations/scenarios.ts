import type { Scenario } from './scenario.ts'
import { CONTENTION } from './scenarios/contention.ts'
import { GENERATIONS } from './scenarios/generations.ts'
import { OPTIONS } from './scenarios/options.ts'
import { OVERSOLD } from './scenarios/oversold.ts'
import { PERSISTENCE } from './scenarios/persistence.ts'
import { REENTRY } from './scenarios/reentry.ts'
import { TRANSACTIONS } from './scenarios/transactions.ts'

/** Everything that the lab shows, in the order in which the story is told. */
export const SCENARIOS: readonly Scenario[] = [
  ...GENERATIONS,
  REENTRY,
  OVERSOLD,
  CONTENTION,
  TRANSACTIONS,
  OPTIONS,
  PERSISTENCE,
]

import fc from 'fast-check'
import { it } from 'vitest'
import * as realModel from '../../src/model/index.ts'
import { type Plan, plan } from './arbitraries.ts'
import { explore, type Model, type Sight, type Tour } from './explore.ts'

/** A property is a run over random cases against the model it is given, which need not be the real one. */
export type Property = (model: Model, options: RunOptions) => fc.RunDetails<unknown>

export interface RunOptions {
  readonly runs: number
  readonly seed?: number
  /** Whether a counterexample is made small; not needed when only its existence matters. */
  readonly shrink?: boolean
}

/** Properties by what they promise. */
export type Topic = Readonly<Record<string, Property>>

/** Cases per property in a normal run; FC_RUNS=10000 for a thorough one, FC_SEED to repeat a failure. */
const RUNS = Number(process.env.FC_RUNS ?? 400)
const SEED = process.env.FC_SEED === undefined ? undefined : Number(process.env.FC_SEED)

export function forAll<T>(cases: fc.Arbitrary<T>, predicate: (model: Model, value: T) => void): Property {
  return (model, { runs, seed, shrink = true }) =>
    fc.check(
      fc.property(cases, (value) => predicate(model, value)),
      { numRuns: runs, endOnFailure: !shrink, ...(seed === undefined ? {} : { seed }) },
    ) as fc.RunDetails<unknown>
}

/** What holds at every step of every plan. */
export function atEveryStep(
  look: (sight: Sight, model: Model) => void,
  tour: Tour & { readonly plans?: fc.Arbitrary<Plan> } = {},
): Property {
  return forAll(tour.plans ?? plan, (model, value) =>
    explore(model, value, (sight) => look(sight, model), tour),
  )
}

/** Registers one test for each property of a topic. */
export function prove(topic: Topic): void {
  for (const [promise, property] of Object.entries(topic)) {
    it(promise, () => {
      const details = property(realModel, { runs: RUNS, ...(SEED === undefined ? {} : { seed: SEED }) })
      if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
    })
  }
}

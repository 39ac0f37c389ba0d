import fc from 'fast-check'
import { it } from 'vitest'
import * as realModel from '../../src/model/index.ts'
import { type Plan, plan } from './arbitraries.ts'
import { explore, type Model, type Sight, type Tour } from './explore.ts'

/** What must hold in every case, for the model it is asked about, which need not be the real one. */
export interface Property {
  readonly cases: fc.Arbitrary<unknown>
  /** Throws when the model breaks the promise in this case. */
  readonly check: (model: Model, value: unknown) => void
}

/** Properties by what they promise. */
export type Topic = Readonly<Record<string, Property>>

/** Cases per property in a normal run; FC_RUNS=10000 for a thorough one, FC_SEED to repeat a failure. */
const RUNS = Number(process.env.FC_RUNS ?? 300)
const SEED = process.env.FC_SEED

export function forAll<T>(cases: fc.Arbitrary<T>, check: (model: Model, value: T) => void): Property {
  return { cases, check: check as Property['check'] }
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

/** One run of fast-check: random cases, and the smallest counterexample if there is one. */
export function run({ cases, check }: Property, model: Model, numRuns: number): fc.RunDetails<[unknown]> {
  const property = fc.property(cases, (value) => check(model, value))
  return fc.check(property, SEED === undefined ? { numRuns } : { numRuns, seed: Number(SEED) })
}

/** Registers one test for each property of a topic. */
export function prove(topic: Topic): void {
  for (const [promise, property] of Object.entries(topic)) {
    it(promise, () => {
      const details = run(property, realModel, RUNS)
      if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
    })
  }
}

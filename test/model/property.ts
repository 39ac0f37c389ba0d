import fc from 'fast-check'
import { it } from 'vitest'
import * as realModel from '../../src/model/index.ts'
import { type Plan, plan } from './arbitraries.ts'
import { explore, type Model, type Sight, type Tour } from './explore.ts'

type Look = (sight: Sight, model: Model) => void

/** A condition on every case, for the model under test, which need not be the real one. */
export interface Property {
  readonly cases: fc.Arbitrary<unknown>
  /** Throws when the model breaks the promise in this case. */
  readonly check: (model: Model, value: unknown) => void
  /** The check at each step of a plan, if `check` does nothing else. */
  readonly look?: Look
}

/** Properties by what they promise. */
export type Topic = Readonly<Record<string, Property>>

/** Cases per property in a normal run, the same each time; FC_RUNS=10000 and FC_SEED=random look further. */
const RUNS = Number(process.env.FC_RUNS ?? 300)
const TIMEOUT_MS = Math.max(30_000, RUNS * 30)
const SEED = process.env.FC_SEED === 'random' ? undefined : Number(process.env.FC_SEED ?? 42)

export function forAll<T>(cases: fc.Arbitrary<T>, check: (model: Model, value: T) => void): Property {
  return { cases, check: check as Property['check'] }
}

/** A condition on every step of every plan. */
export function atEveryStep(look: Look): Property {
  return { ...onTour(look, {}), look }
}

/** The same under other rules, or with other plans. */
export function onTour(look: Look, tour: Tour, plans: fc.Arbitrary<Plan> = plan): Property {
  return forAll(plans, (model, value) => explore(model, value, (sight) => look(sight, model), tour))
}

/** One run of fast-check: random cases, and the smallest counterexample if there is one. */
function run({ cases, check }: Property): fc.RunDetails<[unknown]> {
  const property = fc.property(cases, (value) => check(realModel, value))
  return fc.check(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: SEED }) })
}

/** Registers one test for each property of a topic. */
export function prove(topic: Topic): void {
  const looks = Object.values(topic).flatMap(({ look }) => look ?? [])
  const together = atEveryStep((sight, model) => {
    for (const look of looks) look(sight, model)
  })
  let allHold: boolean | undefined
  for (const [promise, property] of Object.entries(topic)) {
    const proof = () => {
      // One walk serves all that look at its steps. If it fails, each of them walks alone, over the same cases.
      if (property.look !== undefined) {
        allHold ??= !run(together).failed
        if (allHold) return
      }
      const details = run(property)
      if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
    }
    it(promise, proof, TIMEOUT_MS)
  }
}

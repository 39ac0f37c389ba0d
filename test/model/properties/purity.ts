import assert from 'node:assert/strict'
import { RULES } from '../arbitraries.ts'
import { atEveryStep, onTour, type Topic } from '../property.ts'

export const purity: Topic = {
  'a step leaves its input as it was: it could not write to what is frozen': onTour(
    ({ before, state, event }) => {
      assert(Object.isFrozen(before) && Object.isFrozen(state) && Object.isFrozen(event))
    },
    { freeze: true },
  ),

  'the same step has the same outcome, also from a state that was written down and read again': atEveryStep(
    ({ before, event, clock, state, answer, notifications }, model) => {
      const readAgain = JSON.parse(JSON.stringify(before)) as typeof before
      const outcome = model.step(readAgain, event, clock, RULES)
      assert.deepEqual(outcome, { state, answer, notifications })
    },
  ),
}

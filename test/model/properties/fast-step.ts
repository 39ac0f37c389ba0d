import assert from 'node:assert/strict'
import { RULES } from '../arbitraries.ts'
import { atEveryStep, type Topic } from '../property.ts'

export const fastStep: Topic = {
  'the fast path agrees with the reference': atEveryStep(
    ({ before, event, clock, state, answer, notifications }, model) => {
      assert.deepEqual(model.fullStep(before, event, clock, RULES), { state, answer, notifications })
    },
  ),
}

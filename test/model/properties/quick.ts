import assert from 'node:assert/strict'
import { RULES } from '../arbitraries.ts'
import { atEveryStep, type Topic } from '../property.ts'

export const quick: Topic = {
  'the quick way and the long way lead to the same place': atEveryStep(
    ({ before, event, clock, state, answer, letters }, model) => {
      assert.deepEqual(model.longStep(before, event, clock, RULES), { state, answer, letters })
    },
  ),
}

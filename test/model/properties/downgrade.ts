import assert from 'node:assert/strict'
import type { Granted } from '../../../src/model/index.ts'
import { RULES } from '../arbitraries.ts'
import { atEveryStep, type Topic } from '../property.ts'
import { gives } from './exclusion.ts'

export const downgrade: Topic = {
  'a holder is granted again what its hold gives, and nothing more': atEveryStep(
    ({ event, answer, known }) => {
      if (event.kind !== 'claim') return
      const hold = known.holdOf(event.claim.id)
      if (hold === undefined) return
      assert.equal(answer?.kind, gives(hold.mode, event.claim.mode) ? 'granted' : 'refused')
    },
  ),

  'a writer alone in its hold becomes a reader, with the token that it has': atEveryStep(
    ({ event, answer, known, state, clock }, model) => {
      if (event.kind !== 'claim' || event.claim.mode.kind !== 'shared') return
      const hold = known.holdOf(event.claim.id)
      if (hold?.mode.kind !== 'exclusive') return
      assert.equal((answer as Granted).token, hold.token)
      const seen = model.viewOf('k', state, clock.nowMs).holders.filter(({ token }) => token === hold.token)
      for (const { mode } of seen) assert.equal(mode, hold.believers.length === 1 ? 'shared' : 'exclusive')
    },
  ),

  'a refused claim changes nothing about those who hold': atEveryStep(
    ({ event, answer, before, state, clock, known }, model) => {
      if (event.kind !== 'claim' || answer?.kind !== 'refused') return
      if (known.waiter(event.claim.id) !== undefined) return
      assert.deepEqual(state, model.step(before, { kind: 'tick' }, clock, RULES).state)
    },
  ),
}

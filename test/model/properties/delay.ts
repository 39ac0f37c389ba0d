import assert from 'node:assert/strict'
import { atEveryStep, type Topic } from '../property.ts'

export const delay: Topic = {
  'while a key is closed no new hold begins': atEveryStep(({ event, known, learnt, clock }) => {
    // An adoption gives a living hold a new token; it is no new hold.
    if (known.closedUntilMs <= clock.nowMs || (event.kind === 'claim' && event.claim.replaces !== null))
      return
    assert.deepEqual(learnt.tokens, known.tokens)
  }),

  'a key is closed only by a holder that ran out of time and asked for it': atEveryStep(
    ({ expired, before, state, event, clock }, model) => {
      const closedBefore = model.viewOf('k', before, clock.nowMs).closedForMs
      const closedAfter = model.viewOf('k', state, clock.nowMs).closedForMs
      if (closedAfter > closedBefore) assert(expired.length > 0, `closed by ${event.kind}`)
      assert(closedAfter >= closedBefore, 'opened early')
    },
  ),
}

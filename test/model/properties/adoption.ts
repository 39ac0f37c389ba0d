import assert from 'node:assert/strict'
import type { Granted } from '../../../src/model/index.ts'
import { atEveryStep, type Topic } from '../property.ts'
import { gives } from './exclusion.ts'

export const adoption: Topic = {
  'is granted exactly when the giver still holds, with enough for the taker': atEveryStep(
    ({ event, answer, known }) => {
      if (event.kind !== 'claim' || event.claim.replaces === null) return
      if (known.holdOf(event.claim.id) !== undefined) return
      const given = known.holdOf(event.claim.replaces)
      if (given === undefined) {
        // Somebody who waits may be granted by this very step, and nobody knows of it yet.
        if (known.waiter(event.claim.replaces) === undefined) assert.equal(answer?.kind, 'refused')
        return
      }
      assert.equal(answer?.kind, gives(given.mode, event.claim.mode) ? 'granted' : 'refused')
    },
  ),

  'tells the giver, and nobody else loses anything': atEveryStep(
    ({ event, answer, notifications, known, learnt }) => {
      if (event.kind !== 'claim' || event.claim.replaces === null || answer?.kind !== 'granted') return
      const { id, replaces } = event.claim
      if (known.holdOf(id) !== undefined) return
      const adopted = notifications.filter(
        ({ notice }) => notice.kind === 'lost' && notice.cause === 'adopted',
      )
      assert.deepEqual(
        adopted.map(({ inbox, notice }) => [inbox, notice.id]),
        [[`inbox of ${replaces}`, replaces]],
      )
      assert.equal(learnt.holdOf(replaces), undefined)
      for (const hold of known.holds) {
        for (const { claim } of hold.believers) {
          if (claim.id !== replaces)
            assert(learnt.holdOf(claim.id) !== undefined, `${claim.id} lost its hold`)
        }
      }
    },
  ),

  'moves the fence whenever the hold was the giver’s alone': atEveryStep(({ event, answer, known }) => {
    if (event.kind !== 'claim' || event.claim.replaces === null || answer?.kind !== 'granted') return
    if (known.holdOf(event.claim.id) !== undefined) return
    const given = known.holdOf(event.claim.replaces)
    if (given === undefined) return
    const { token } = answer as Granted
    assert(token !== null)
    if (given.believers.length > 1) assert.equal(token, given.token)
    else assert(token >= given.token + 256n)
  }),
}

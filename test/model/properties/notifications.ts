import assert from 'node:assert/strict'
import type { Granted } from '../../../src/model/index.ts'
import { plan } from '../arbitraries.ts'
import { explore, inboxOf, type Sight } from '../explore.ts'
import { atEveryStep, forAll, type Topic } from '../property.ts'

/** The last news of each claimant about others that wait. */
function listen(heard: Map<string, boolean>, { event, answer, notifications }: Sight): void {
  for (const { notice } of notifications) {
    if (notice.kind === 'granted') heard.set(notice.id, notice.contended)
    if (notice.kind === 'contended') heard.set(notice.id, true)
  }
  if (event.kind === 'claim' && answer?.kind === 'granted')
    heard.set(event.claim.id, (answer as Granted).contended)
  if (event.kind === 'renew' && answer?.kind === 'renewed' && 'contended' in answer)
    heard.set(event.id, answer.contended)
}

export const notifications: Topic = {
  'go to the inbox of the claim that they are about': atEveryStep((sight) => {
    for (const { inbox, notice } of sight.notifications) assert.equal(inbox, inboxOf(notice.id))
  }),

  'tell every holder whose time ran out, once, and nobody else': atEveryStep((sight) => {
    const told = sight.notifications.flatMap(({ notice }) =>
      notice.kind === 'lost' && notice.cause === 'expired' ? [notice.id] : [],
    )
    assert.deepEqual(told.sort(), [...sight.expired].sort())
  }),

  'never leave a holder believing that nobody waits while somebody does': forAll(plan, (model, value) => {
    const heard = new Map<string, boolean>()
    explore(model, value, (sight) => {
      listen(heard, sight)
      if (sight.learnt.queue.length === 0) return
      for (const hold of sight.learnt.holds) {
        for (const { claim } of hold.believers)
          assert(heard.get(claim.id), `${claim.id} was not told that others wait`)
      }
    })
  }),

  'and answers say that others wait exactly when they do': atEveryStep(({ event, answer, learnt }) => {
    if (answer === null || !('contended' in answer) || (event.kind !== 'claim' && event.kind !== 'renew'))
      return
    assert.equal(answer.contended, learnt.queue.length > 0)
  }),

  'say that others wait once for each time that the queue begins': atEveryStep((sight) => {
    const told = sight.notifications
      .filter(({ notice }) => notice.kind === 'contended')
      .map(({ notice }) => notice.id)
    assert.equal(new Set(told).size, told.length)
    if (told.length > 0) assert.equal(sight.learnt.queue.length, 1)
  }),
}

import assert from 'node:assert/strict'
import type { Mode } from '../../../src/model/index.ts'
import { atEveryStep, type Topic } from '../property.ts'
import { permitsUsed } from './exclusion.ts'

function isSemaphore(mode: Mode): boolean {
  return mode.kind === 'permits'
}

export const permitsTopic: Topic = {
  'the permits that claimants believe in never exceed the limit': atEveryStep(({ learnt }) => {
    for (const hold of learnt.holds) {
      if (hold.mode.kind !== 'permits') continue
      assert(
        permitsUsed(learnt) <= hold.mode.limit,
        `${permitsUsed(learnt)} of ${hold.mode.limit} permits are in use`,
      )
    }
  }),

  'a key in use has one kind and one limit': atEveryStep(({ learnt }) => {
    const modes = [
      ...learnt.holds.map((hold) => hold.mode),
      ...learnt.queue.map((waiter) => waiter.claim.mode),
    ]
    const limits = modes.map((mode) => (mode.kind === 'permits' ? mode.limit : null))
    assert(new Set(limits).size <= 1, `limits ${limits.join(', ')} in one key`)
  }),

  'a claim is refused exactly when its kind or limit differs from what is in use, or it can never fit':
    atEveryStep(({ event, answer, known }) => {
      if (
        event.kind !== 'claim' ||
        event.claim.replaces !== null ||
        known.holdOf(event.claim.id) !== undefined
      )
        return
      const { mode } = event.claim
      const used = known.holds[0]?.mode ?? known.queue[0]?.claim.mode
      const reason = answer?.kind === 'refused' && 'reason' in answer ? answer.reason : null
      const differentKind = used !== undefined && isSemaphore(used) !== isSemaphore(mode)
      const differentLimit = used?.kind === 'permits' && mode.kind === 'permits' && used.limit !== mode.limit
      const tooHeavy = mode.kind === 'permits' && mode.weight > mode.limit
      assert.equal(reason === 'mode', differentKind && !tooHeavy)
      assert.equal(reason === 'limit', tooHeavy || differentLimit)
    }),
}

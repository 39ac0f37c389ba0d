import assert from 'node:assert/strict'
import type { Granted } from '../../../src/model/index.ts'
import { planWithGoodClock } from '../arbitraries.ts'
import type { Sight } from '../explore.ts'
import { atEveryStep, onTour, type Topic } from '../property.ts'

const TOKENS_PER_GRANT = 256n
const LARGEST = 2n ** 63n - 1n

/** Each new hold's token is above the last one and above all its spare ones. */
function rises({ learnt, known }: Sight): void {
  let last = known.tokens.at(-1)
  for (const token of learnt.tokens.slice(known.tokens.length)) {
    if (last !== undefined) assert(token >= last + TOKENS_PER_GRANT, `${token} after ${last}`)
    assert(token <= LARGEST)
    last = token
  }
}

export const tokens: Topic = {
  'rise strictly, whatever the wall clock does, as long as the key is remembered': atEveryStep(rises),

  'rise strictly over forgetting, as long as the wall clock does not go back': onTour(
    rises,
    { forget: true },
    planWithGoodClock,
  ),

  'rise strictly over forgetting at once': onTour(
    rises,
    {
      forget: true,
      rules: { offerMs: Number.POSITIVE_INFINITY, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY },
    },
    planWithGoodClock,
  ),

  'stay the same for a claim that is sent again, and for everybody in a hold': atEveryStep(
    ({ event, answer, known, learnt }) => {
      if (event.kind !== 'claim' || answer?.kind !== 'granted') return
      const { token } = answer as Granted
      const before =
        known.holdOf(event.claim.id) ?? (event.claim.replaces === null && known.ownHold(event.claim))
      if (before) assert.equal(token, before.token)
      assert.equal(learnt.holdOf(event.claim.id)?.token, token)
    },
  ),

  'have spare ones above them only where nobody else can share the hold': atEveryStep(
    ({ event, answer, notifications, learnt }) => {
      const ownerOf = (id: string) => learnt.holdOf(id)?.owner ?? null
      for (const { notice } of notifications) {
        if (notice.kind !== 'granted' || learnt.holdOf(notice.id) === undefined) continue
        assert.equal(notice.spare, ownerOf(notice.id) === null ? 255 : 0)
      }
      if (event.kind !== 'claim' || answer?.kind !== 'granted') return
      assert.equal((answer as Granted).spare, ownerOf(event.claim.id) === null ? 255 : 0)
    },
  ),
}

import assert from 'node:assert/strict'
import type { EvictAnswer } from '../../../src/model/index.ts'
import { RULES } from '../arbitraries.ts'
import type { Sight } from '../explore.ts'
import { atEveryStep, type Topic } from '../property.ts'

/** Ids of the holders that the token means, also when it is one of the hold's handed-over tokens. */
function meant({ event, known }: Sight): string[] {
  if (event.kind !== 'evict' && event.kind !== 'revoke') return []
  const first = event.token === null ? null : event.token - (event.token % 256n)
  const holds = known.holds.filter((hold) => first === null || hold.token === first)
  return holds.flatMap((hold) => hold.believers.map((believer) => believer.claim.id))
}

function labelsOf(ids: readonly string[]): string[] {
  return ids.map((id) => `label of ${id}`).sort()
}

export const operators: Topic = {
  'an eviction ends the holds with that token, tells each of their claimants, and ends nothing else':
    atEveryStep((sight) => {
      const { event, answer, notifications, known, learnt } = sight
      if (event.kind !== 'evict') return
      const told = notifications.flatMap(({ notice }) =>
        notice.kind === 'lost' && notice.cause === 'evicted' ? [notice.id] : [],
      )
      assert.deepEqual(labelsOf(told), [...(answer as EvictAnswer).labels].sort())
      assert.equal((answer as EvictAnswer).kind, told.length === 0 ? 'absent' : 'evicted')
      const ended = meant(sight)
      for (const id of ended) assert(told.includes(id), `${id} was not evicted`)
      for (const hold of known.holds) {
        for (const { claim } of hold.believers) {
          if (!ended.includes(claim.id))
            assert(learnt.holdOf(claim.id) !== undefined, `${claim.id} lost its hold`)
        }
      }
    }),

  'an eviction moves the fence: what is granted next is above every token of the evicted': atEveryStep(
    ({ event, answer, known, clock, state }, model) => {
      if (event.kind !== 'evict' || answer?.kind !== 'evicted') return
      const last = known.tokens.at(-1) ?? 0n
      assert((model.viewOf('k', state, clock.nowMs).token ?? 0n) >= last + 256n)
    },
  ),

  'a request to let go changes nothing and reaches every claimant it means': atEveryStep((sight, model) => {
    const { event, before, clock, state, notifications, answer } = sight
    if (event.kind !== 'revoke') return
    assert.deepEqual(state, model.step(before, { kind: 'tick' }, clock, RULES).state)
    const told = notifications.flatMap(({ notice }) => (notice.kind === 'revoked' ? [notice.id] : []))
    for (const id of meant(sight)) assert(told.includes(id), `${id} was not asked`)
    assert.deepEqual(labelsOf(told), [...(answer as EvictAnswer).labels].sort())
  }),
}

import assert from 'node:assert/strict'
import { ADOPTERS, CLAIMANTS } from '../arbitraries.ts'
import { atEveryStep, type Topic } from '../property.ts'

const SECRETS = [...CLAIMANTS, ...ADOPTERS]

export const view: Topic = {
  'never shows an id, which is the proof of ownership': atEveryStep(({ state, clock }, model) => {
    const record = model.viewOf('k', state, clock.nowMs)
    const values = [...record.holders, ...record.queue].flatMap((row) => Object.values(row))
    for (const id of SECRETS) assert(!values.includes(id), `${id} is shown`)
  }),

  'shows the limit of a semaphore in use, and weights that add up to no more': atEveryStep(
    ({ state, clock, learnt }, model) => {
      const record = model.viewOf('k', state, clock.nowMs)
      const mode = learnt.holds[0]?.mode ?? learnt.queue[0]?.claim.mode
      assert.equal(record.limit, mode?.kind === 'permits' ? mode.limit : null)
      if (record.limit === null) return
      const weightOfToken = new Map(record.holders.map(({ token, weight }) => [token, weight]))
      const used = [...weightOfToken.values()].reduce((sum, weight) => sum + weight, 0)
      assert(used <= record.limit)
    },
  ),

  'counts times from the grant and from joining the queue': atEveryStep(({ state, clock }, model) => {
    const record = model.viewOf('k', state, clock.nowMs)
    for (const { heldMs } of record.holders) assert(heldMs !== null && heldMs >= 0)
    for (const { waitedMs } of record.queue) assert(waitedMs >= 0)
    assert.equal(model.isInUse(record), record.holders.length + record.queue.length > 0)
  }),
}

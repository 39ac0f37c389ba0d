import assert from 'node:assert/strict'
import { atEveryStep, type Topic } from '../property.ts'
import { couldEnter } from './exclusion.ts'

export const expiry: Topic = {
  'the first live waiter is let in as soon as it can be: nothing dead blocks it': atEveryStep(
    ({ learnt, clock }) => {
      const first = learnt.queue[0]
      if (first === undefined) return
      assert(
        !couldEnter(learnt, first.claim, clock.nowMs),
        `${first.claim.id} could hold the key and still waits`,
      )
    },
  ),

  'what operators see is what the claimants know: nobody is held or kept in the queue beyond its time':
    atEveryStep(({ state, learnt, clock }, model) => {
      const view = model.viewOf('k', state, clock.nowMs)
      const seen = view.holders.map(({ label, token, expiresInMs }) => `${label} ${token} ${expiresInMs}`)
      const believed = learnt.holds.flatMap(({ token, believers }) =>
        believers.map(({ claim, untilMs }) => `${claim.label} ${token} ${untilMs - clock.nowMs}`),
      )
      assert.deepEqual(seen.sort(), believed.sort())
      assert.deepEqual(
        view.queue.map(({ label, expiresInMs }) => `${label} ${expiresInMs}`),
        learnt.queue.map(({ claim, untilMs }) => `${claim.label} ${untilMs - clock.nowMs}`),
      )
      assert.equal(view.closedForMs, Math.max(0, learnt.closedUntilMs - clock.nowMs))
    }),

  'a grant that was not asked for in this step is an offer with a short life': atEveryStep(
    ({ notifications, known, clock }) => {
      for (const { notice } of notifications) {
        if (notice.kind !== 'granted') continue
        const waiter = known.waiter(notice.id)
        assert(waiter !== undefined, `${notice.id} was granted and did not wait`)
        assert.equal(notice.lifeMs, Math.min(waiter.claim.ttlMs, 8))
        assert.equal(notice.storeTimeMs, clock.nowMs)
      }
    },
  ),

  'renewal never creates: who neither holds nor waits is lost': atEveryStep(
    ({ event, answer, known, learnt }) => {
      if (event.kind !== 'renew') return
      const holds = learnt.believer(event.id) !== undefined
      const waits = learnt.waiter(event.id) !== undefined
      assert.equal(answer?.kind, holds ? 'renewed' : waits ? 'waiting' : 'lost')
      const alive = known.believer(event.id) !== undefined || known.waiter(event.id) !== undefined
      if (!alive) assert.equal(learnt.holdOf(event.id) ?? learnt.waiter(event.id), undefined)
    },
  ),

  'a release ends one hold or one position, and says whether there was one': atEveryStep(
    ({ event, answer, known, learnt }) => {
      if (event.kind !== 'release') return
      const alive = known.believer(event.id) !== undefined || known.waiter(event.id) !== undefined
      assert.equal(answer?.kind, alive ? 'released' : 'absent')
      const others = (ledger: typeof known) =>
        ledger.holds
          .flatMap((hold) => hold.believers.map((one) => one.claim.id))
          .filter((id) => id !== event.id)
      for (const id of others(known))
        assert(others(learnt).includes(id), `the release of ${event.id} ended ${id}`)
    },
  ),
}
